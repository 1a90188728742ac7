#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Prose stays true where a machine can tell: links lead to files and headings that exist, and the README shows the example that is
# compiled.
set -euo pipefail
cd "$(dirname "$0")/../.."
broken=0

# The anchors of a page's headings, as GitHub spells them.
anchors() {
  sed '/^```/,/^```/d' "$1" | sed -nE 's/^#+ +//p' | sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g' | tr '[:upper:] ' '[:lower:]-' |
    sed 's/[^[:alnum:]_-]//g'
}

mapfile -t pages < <(find . -name build -prune -o -name '.git' -prune -o -name '*.md' -print)
while IFS=: read -r page link; do
  target=${link#*](}
  target=${target%)}
  if [[ $target =~ ^[a-z]+: ]]; then continue; fi
  anchor=
  if [[ $target == *#* ]]; then anchor=${target#*#}; fi
  file=$(dirname "$page")/${target%%#*}
  if [[ ${target%%#*} == '' ]]; then file=$page; fi
  if [[ ! -e $file ]]; then
    echo "$page: broken link $target" >&2
    broken=1
  elif [[ -n $anchor && $file == *.md ]] && ! grep -qxF -- "$anchor" <<<"$(anchors "$file")"; then
    echo "$page: no heading for $target" >&2
    broken=1
  fi
done < <(
  # A link's text may be broken by a line; its target is not. Code is no link.
  for page in "${pages[@]}"; do
    sed -E '/^```/,/^```/d; s/`[^`]*`//g' "$page" | grep -oE '\]\([^) ]+\)' | sed "s|^|$page:|" || true
  done
)

shown=$(sed -n '/^```cpp$/,/^```$/p' README.md | sed '1d;$d')
compiled=$(sed -n '/\[readme\]/,/\[readme\]/p' examples/minimal.cpp | sed '1d;$d;s/^  //')
if ! diff <(echo "$shown") <(echo "$compiled") >&2; then
  echo "README.md: the example differs from examples/minimal.cpp" >&2
  broken=1
fi
exit $broken
