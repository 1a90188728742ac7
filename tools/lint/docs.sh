#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Prose stays true where a machine can tell: links lead somewhere, and the README shows the example that is compiled.
set -euo pipefail
cd "$(dirname "$0")/../.."
broken=0
while IFS=: read -r page link; do
  target=${link#](}
  target=${target%)}
  target=${target%%#*}
  if [[ $target == http* || -z $target ]]; then continue; fi
  if [[ ! -e $(dirname "$page")/$target ]]; then
    echo "$page: broken link $target" >&2
    broken=1
  fi
done < <(grep -oHE '\]\([^) ]+\)' ./*.md docs/*.md docs/*/*.md bench/*.md)

shown=$(sed -n '/^```cpp$/,/^```$/p' README.md | sed '1d;$d')
compiled=$(sed -n '/\[readme\]/,/\[readme\]/p' examples/minimal.cpp | sed '1d;$d;s/^  //')
if ! diff <(echo "$shown") <(echo "$compiled") >&2; then
  echo "README.md: the example differs from examples/minimal.cpp" >&2
  broken=1
fi
exit $broken
