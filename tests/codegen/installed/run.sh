#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the component codegen from the build folder $1, and builds and runs a project that has nothing else.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$1" --component codegen --prefix "$folder/prefix" >/dev/null
if find "$folder/prefix" -name '*.so*' -o -name 'libcubejit.a' | grep .; then exit 1; fi
mkdir "$folder/source"
cp "$here"/CMakeLists.txt "$here"/main.cpp "$here"/../../support/small_tile_program.h "$folder/source"
cmake -S "$folder/source" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null
cmake --build "$folder/build" >/dev/null
"$folder/build/user"
