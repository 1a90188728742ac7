#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Seeds the bugs of tests/**/mutants.txt one by one and asks whether the tests see them; fails where they see fewer than 95 %:
#   tools/mutants.sh [NAME...]     (default: all; a name may be a pattern) JOBS=1 builds with one job
# All happens in build/mutants, a worktree of what is tracked here as it stands now.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh build test
tree=$PWD/build/mutants
commit=$(git stash create)
commit=${commit:-$(git rev-parse HEAD)}
git worktree prune
if [[ -e $tree/.git ]]; then
  git -C "$tree" checkout --quiet --force --detach "$commit"
else
  git worktree add --quiet --force --detach "$tree" "$commit"
fi
# What no mutant needs only takes time to link.
off=()
for part in TOOLS EXAMPLES BENCH PYTHON INSTALL; do off+=("-DCUBEJIT_$part=OFF"); done
cmake -S "$tree" --preset ci "${off[@]}" >/dev/null
exec python3 -B "$tree/tests/mutants.py" run "$tree" "$tree/build/ci" "$@"
