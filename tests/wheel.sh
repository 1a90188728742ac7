#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tries a wheel of the system's Python in fresh environments, one with NumPy alone and one beside Debian's NumPy and PyTorch, in which the Python
# tests run with nothing else: tests/wheel.sh [WHEEL]; without one makes it, for this system alone, which compiles the library once more.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh build python peers wheel
python=/usr/bin/python3 wheel=${1:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [[ -z $wheel ]]; then
  "$python" -m build --wheel --no-isolation --outdir "$folder" .
  rm -r python/cubejit.egg-info
  wheel=$(echo "$folder"/cubejit-*.whl)
fi
unset PYTHONPATH

# environment NAME [OPTION...]: a fresh one, with the wheel.
environment() {
  "$python" -m venv "${@:2}" "$folder/$1"
  "$folder/$1/bin/pip" install --quiet --no-index --no-deps "$wheel"
}
run() {
  echo "$1: $2"
  (cd "$folder" && CUBEJIT_TUNE=off "$folder/$1/bin/python" -B "$OLDPWD/tests/python/run.py" "$OLDPWD/$2")
}

environment bare
ln -s "$("$python" -c 'import numpy; print(numpy.__path__[0])')" "$folder"/bare/lib/python3*/site-packages/
run bare tests/python/package_test.py
environment beside --system-site-packages
for test in tests/python/{package,conv_backward,post_ops,session,tbe,torch,torch_enable,torch_kinds,torch_post_ops,torch_refused}_test.py; do
  run beside "$test"
done
