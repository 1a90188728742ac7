#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A type has one definition: no two files define one of the same name in the same namespace. Types of anonymous namespaces and nested
# ones (they are indented) may be called what they like; declarations define nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Prints NAMESPACE::NAME FILE of every definition at the beginning of a line.
definitions() {
  awk '
    FNR == 1 { depth = 0 }
    /^(inline )?namespace.*\{$/ { name = $0; gsub(/^(inline )?namespace *| *\{$/, "", name); open[++depth] = name; next }
    /^}  \/\/ namespace/ { --depth; next }
    /^(struct|class|union|enum class|enum) .*\{/ {
      line = $0
      sub(/^(struct|class|union|enum class|enum) +/, "", line)
      gsub(/(alignas\([^)]*\)|\[\[[^]]*\]\]) */, "", line)
      if (!match(line, /^[A-Za-z_0-9:]+/) || substr(line, RLENGTH + 1) ~ /^[(<]/) next  # a function, a specialisation
      full = substr(line, 1, RLENGTH)
      for (i = depth; i > 0; --i) {
        if (open[i] == "") next
        full = open[i] "::" full
      }
      print full, FILENAME
    }' "$@"
}
mapfile -t files < <(find include base algorithms tiling codegen emulation runtime api tests/support -name '*.h' -o -name '*.hpp' -o -name '*.cpp' | sort)
twice=$(definitions "${files[@]}" | awk '{ files[$1] = files[$1] " " $2; ++count[$1] }
  END { for (type in count) if (count[type] > 1) print "odr: " type " is defined in" files[type] }' | sort)
if [[ -n $twice ]]; then
  echo "$twice" >&2
  exit 1
fi
