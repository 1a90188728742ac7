#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes a wheel (dist/), installs it in a fresh environment beside Debian's NumPy and PyTorch, and runs the Python tests with nothing else.
# Not part of CI, for it compiles the library once more.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh build python peers wheel
python=/usr/bin/python3
rm -rf dist
"$python" -m build --wheel --no-isolation --outdir dist .
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv --system-site-packages "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-index --no-deps dist/cubejit-*.whl
unset PYTHONPATH
for test in tests/python/{conv_backward,post_ops,session,tbe,torch,torch_enable,torch_kinds,torch_post_ops}_test.py; do
  echo "$test"
  (cd "$folder" && CUBEJIT_TUNE=off "$folder/venv/bin/python" -B "$OLDPWD/tests/python/run.py" "$OLDPWD/$test")
done
