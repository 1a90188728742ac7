#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Line coverage of the C++ outside tools/ by the test programs and the command they start, by folder; fails below 90 %:
#   tools/coverage.sh [MODULE...]   (default: every folder of tests/ with a program of its own)
set -euo pipefail
cd "$(dirname "$0")/.."
modules=("$@")
if ((${#modules[@]} == 0)); then modules=(tiling algorithms codegen emulation runtime api acl differential golden tools); fi
tools/setup.sh mpi coverage
build=$PWD/build/coverage
profiles=$build/profiles
rm -rf "$profiles"
# Programs that a signal ends write nothing; those that go on write together into a few files.
LLVM_PROFILE_FILE=$profiles/%4m.profraw tools/test.sh coverage "${modules[@]}" || echo "coverage.sh: tests failed; what they ran counts" >&2
find "$profiles" -name '*.profraw' -size +0 >"$profiles/list"
llvm-profdata-19 merge --sparse --failure-mode=all --input-files="$profiles/list" -o "$profiles/all.profdata"
objects=()
while read -r object; do objects+=(-object "$object"); done < <(find "$build" \( -name '*_tests' -o -name 'libcubejit*.so*' -o -name cubejit \) -type f)
objects=("${objects[@]:1}")  # the first is named by itself
llvm-cov-19 export "${objects[@]}" -instr-profile="$profiles/all.profdata" --summary-only >"$profiles/summary.json"
python3 -B - "$profiles/summary.json" "$PWD" <<'PY'
import collections, json, pathlib, sys
lines, seen, bare = collections.Counter(), collections.Counter(), []
for file in json.load(open(sys.argv[1]))["data"][0]["files"]:
    path = pathlib.Path(file["filename"])
    if not path.is_relative_to(sys.argv[2]):
        continue
    parts = path.relative_to(sys.argv[2]).parts
    if parts[0] in ("build", "tests", "tools", "examples", "bench"):
        continue
    counts = file["summary"]["lines"]
    if not counts["count"]:
        continue
    folder = "/".join(parts[:2]) if len(parts) > 2 and parts[0] != "include" else parts[0]
    lines[folder] += counts["count"]
    seen[folder] += counts["covered"]
    bare.append((counts["count"] - counts["covered"], "/".join(parts)))
for folder in sorted(lines):
    print(f"{100 * seen[folder] / lines[folder]:6.1f} %  of {lines[folder]:6}  {folder}")
for missed, path in sorted(bare, reverse=True)[:15]:
    print(f"{missed:6} lines never run: {path}")
share = 100 * sum(seen.values()) / sum(lines.values())
print(f"coverage: {share:.1f} % of {sum(lines.values())} lines")
sys.exit(share < 90)
PY
