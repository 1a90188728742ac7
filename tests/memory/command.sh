#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Asks: does the command end with an error and never by a signal where memory ends, by its count of allocations or by `ulimit -v`, and does
# it name the file where a disk is full, and leave what was stored readable? LLVM is not asked: it aborts by itself.
#   command.sh CUBEJIT SHORT_MEMORY_LIBRARY
set -uo pipefail
cubejit=$1 short=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
layer=(--input 1,16,6,7 --weight 24,16,3,3 --padding 1)
broken=0
fail() {
  echo "$*" >&2
  broken=1
}

# An error has a code from 1 to 6 and words; anything else is a signal, a hang, or silence.
is_error() {
  local code=$1 what=$2
  if ((code < 1 || code > 6)); then fail "$what: exit code $code: $(head -c 300 err)"; fi
  if ! grep -q 'error\[' err; then fail "$what: no error is told: $(head -c 300 err)"; fi
}

# sweep RUNS COMMAND ...: with ever more allocations, until they are enough; and then with one that fails, which may also be survived, but
# with the same files.
sweep() {
  local runs=$1 granted=0 step=1 code=1 errors=0
  shift
  while ((runs-- > 0)); do
    CUBEJIT_TEST_ALLOCATIONS=$granted LD_PRELOAD=$short timeout 60 "$cubejit" "$@" >out 2>err
    code=$?
    if ((code == 0)); then break; fi
    errors=$((errors + 1))
    is_error $code "$granted allocations: cubejit $*"
    step=$((granted < 20 ? 1 : granted / 7))
    granted=$((granted + step))
  done
  if ((code != 0)); then fail "never enough: cubejit $*"; fi
  if ((errors < 20)); then fail "only $errors runs were short of memory: cubejit $*"; fi
  local whole one=0
  whole=$(find . | sort)
  # What stands before the command's own allocations is mostly the description of its flags.
  for ((one = granted / 3; one < granted; one += granted / 160 + 1)); do
    CUBEJIT_TEST_SHORTAGE_PASSES=1 CUBEJIT_TEST_ALLOCATIONS=$one LD_PRELOAD=$short timeout 60 "$cubejit" "$@" >out 2>err
    code=$?
    if ((code != 0)); then is_error $code "allocation $one: cubejit $*"; fi
    if grep -q 'error\[internal' err; then fail "allocation $one is called a bug: cubejit $*: $(head -c 300 err)"; fi
    if [[ $(find . | sort) != "$whole" ]]; then fail "allocation $one: cubejit $* left other files: $(find . | sort | head -c 300)"; fi
  done
}
sweep 100 plan "${layer[@]}" --passes dx
sweep 100 plan "${layer[@]}" --passes dw --soc 910b --json
sweep 100 verify "${layer[@]}"
sweep 100 dump "${layer[@]}" --passes dx --emit problem,plan -o planned
sweep 100 dump "${layer[@]}" --passes dx --emit problem,plan,tile,vector,bin,c-header -o dumped

# A point for which there was no memory is not one without a plan: it is not kept, or every later run would believe it.
points=(explore "${layer[@]}" --passes dw --dtype f16 --soc ascend910b2 --vary cores=8..9 --threads 2 --out points.jsonl)
"$cubejit" "${points[@]}" >out 2>err || fail "explore: $(head -c 300 err)"
sort points.jsonl >known
for ((one = 10000; one < 25000; one += 250)); do
  rm points.jsonl
  CUBEJIT_TEST_SHORTAGE_PASSES=1 CUBEJIT_TEST_ALLOCATIONS=$one LD_PRELOAD=$short timeout 60 "$cubejit" "${points[@]}" >out 2>err
  code=$?
  if ((code != 0)); then is_error $code "allocation $one: explore"; fi
  touch points.jsonl
  if [[ -n $(sort points.jsonl | comm -23 - known) ]]; then fail "allocation $one: explore kept another point"; fi
  if ((code == 0)) && ! sort points.jsonl | cmp -s - known; then fail "allocation $one: explore lost a point"; fi
done

# The shell's limit takes address space, and what the linker maps as well: from nothing to enough.
limited=0
for kib in 60000 80000 100000 120000 140000 160000 180000 200000 250000 300000 400000 600000 900000; do
  (ulimit -v "$kib" && exec timeout 60 "$cubejit" verify --input 8,256,56,56 --weight 16,256,1,1 --passes y) >out 2>err
  code=$?
  # Without room for its libraries the linker says so, with a code of its own.
  if ((code == 127)) && grep -q 'error while loading shared libraries' err; then continue; fi
  if ((code == 0)); then break; fi
  limited=$((limited + 1))
  is_error $code "ulimit -v $kib"
done
if ((limited == 0)); then fail "no ulimit -v was too little"; fi

# A disk that is full: /dev/full refuses every byte, and a limit on the size of files is one that is nearly full, for what is written beside
# its place. The file is named, and what was there before can still be read.
names_file() {
  local code=$1 file=$2
  shift 2
  is_error "$code" "$*"
  if ! grep -q -- "$file" err; then fail "$*: $file is not named: $(head -c 300 err)"; fi
}
nearly_full() { (ulimit -f "$1" && shift && exec "$cubejit" "$@"); }

chip=(--soc 910b --in dy=dy.npy --in w=w.npy --out dx=dx.npy)
python3 - <<'PYTHON'
import struct

for name, shape in (("dy", (1, 6, 7, 24)), ("w", (24, 16, 3, 3))):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    count = 1
    for extent in shape:
        count *= extent
    with open(name + ".npy", "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + b"\0" * (4 * count))
PYTHON
for file in --trace --timeline; do
  "$cubejit" run "${layer[@]}" "${chip[@]}" $file /dev/full >out 2>err
  names_file $? /dev/full "run $file /dev/full"
done
nearly_full 1 run "${layer[@]}" "${chip[@]}" >out 2>err
names_file $? dx.npy "run --out on a full disk"
nearly_full 1 dump "${layer[@]}" --passes dx --emit tile,vector -o full >out 2>err
names_file $? full/ "dump on a full disk"
if [[ -n $(ls -A full 2>/dev/null) ]]; then fail "a dump that failed left files"; fi

tune=(tune "${layer[@]}" --passes dx --trials 2 --db store.db --progress none)
"$cubejit" "${tune[@]}" >out 2>err || fail "tune: $(head -c 300 err)"
before=$("$cubejit" db export --db store.db | wc -l)
nearly_full 1 "${tune[@]}" --seed 2 --strategy random --report report.html >out 2>err
code=$?
if ((code < 1 || code > 6)); then fail "tune on a full disk: exit code $code: $(head -c 300 err)"; fi
for file in store.db report.html; do
  if ! grep -q "$file" err; then fail "tune on a full disk does not name $file: $(head -c 300 err)"; fi
done
if grep -q ': Success' err; then fail "tune on a full disk does not say why: $(head -c 300 err)"; fi
if [[ -e report.html ]]; then fail "half a report was left"; fi
after=$("$cubejit" db export --db store.db | wc -l) || fail "the store cannot be read after the disk was full"
if ((before < 1 || after < before)); then fail "the store had $before records and has $after"; fi
exit $broken
