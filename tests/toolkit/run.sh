#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the toolkit's layout from the build folder $1 and builds and runs a project that knows of nothing else.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$1" --component ascend_toolkit --prefix "$folder/toolkit" >/dev/null
source "$folder/toolkit/set_env.sh"
for file in include/acl/acl.h include/aclnnop/aclnn_convolution.h include/aclnnop/aclnn_convolution_backward.h \
  include/tiling/platform/platform_ascendc.h lib64/libascendcl.so lib64/libnnopbase.so lib64/libopapi.so; do
  [[ -f $ASCEND_HOME_PATH/$file ]] || { echo "$file is not there"; exit 1; }
done
cmake -S "$here" -B "$folder/build" -DEXAMPLES="$here/../../examples" >/dev/null
cmake --build "$folder/build" >/dev/null
"$folder/build/operator"
"$folder/build/tiling"
# No other install brings it.
cmake --install "$1" --prefix "$folder/plain" >/dev/null
if find "$folder/plain" -name 'libascendcl*' | grep .; then exit 1; fi
