#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes wheels for other systems, with TBB, SQLite and their licences inside, in dist/: for the Python of this machine and those of the Debian
# releases that are named, and tries each in its system (tests/wheel.sh): tools/wheel.sh [SUITE...] (trixie sid).
# The library and the command are compiled once, here; of the other Pythons only headers are used, so this machine's C library is the oldest
# that any of the wheels needs.
set -euo pipefail
cd "$(dirname "$0")/.."
suites=("$@")
if (($# == 0)); then suites=(trixie sid); fi
work=$PWD/build/wheel python=/usr/bin/python3
tools/setup.sh build python wheel
rm -rf dist "$work"/{raw,tools}
mkdir -p dist "$work"/{raw,tools}

# Of Debian's releases sid has auditwheel, and a wheel that renames tags. Both are Python alone and run here.
tools/root.sh sid tools/setup.sh auditwheel
ln -s "$PWD"/build/roots/sid/usr/lib/python3/dist-packages/{auditwheel,wheel}* "$work/tools/"
tool() { PYTHONPATH=$work/tools "$python" -m "$@"; }

# licences WHEEL: adds the texts of what is linked or compiled into it.
licences() {
  local package text folder
  tool wheel unpack --dest "$work/unpacked" "$1"
  folder=$(echo "$work"/unpacked/*/*.dist-info)/licenses
  mkdir -p "$folder"
  for text in /usr/share/doc/{libtbb[0-9]*,libsqlite3-0,libfmt[0-9]*,lib{xbyak,cli11,dlpack}-dev,nlohmann-json3-dev,pybind11-dev}/copyright; do
    package=${text%/copyright}
    cp "$text" "$folder/${package##*/}"
  done
  cp /usr/share/common-licenses/Apache-2.0 "$folder"
  rm "$1"
  tool wheel pack --dest-dir "$(dirname "$1")" "$work"/unpacked/*
  rm -r "$work/unpacked"
}

tag_of='import sys, sysconfig; print("%d%d%s" % (*sys.version_info[:2], sysconfig.get_config_var("abiflags")))'
built=" "

# wheel TAG COMMAND... [-- CMAKE_ARGUMENT...]: the wheel of the Python with that tag, and the command that tries it.
wheel() {
  local tag=$1 arguments="-U pybind11_DIR -U CUBEJIT_PYTHON_HEADERS -U CUBEJIT_PYTHON_SUFFIX -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON" made
  shift
  local -a try=()
  while (($#)) && [[ $1 != -- ]]; do try+=("$1"); shift; done
  rm -rf "${work:?}"/{lib,bdist,unpacked}
  CMAKE_ARGS="$arguments ${*:2}" "$python" setup.py -q egg_info --egg-base "$work" build --build-temp "$work" --build-lib "$work/lib" \
    bdist_wheel --bdist-dir "$work/bdist" --dist-dir "$work/raw"
  licences "$work"/raw/*.whl
  tool wheel tags --remove --python-tag "cp${tag%t}" --abi-tag "cp$tag" "$work"/raw/*.whl
  tool auditwheel repair --strip --wheel-dir dist "$work"/raw/*.whl
  rm "$work"/raw/*.whl
  made=$(echo dist/cubejit-*-cp"$tag"-*.whl)
  "${try[@]}" tests/wheel.sh "$made"
  built+="$tag "
}

wheel "$("$python" -c "$tag_of")" env
for suite in "${suites[@]}"; do
  tools/root.sh "$suite" tools/setup.sh python wheel
  tag=$(tools/root.sh "$suite" python3 -c "$tag_of")
  if [[ $built == *" $tag "* ]]; then continue; fi
  version=${tag:0:1}.${tag:1}
  # Not the folder itself, in which the headers of that release's C library are.
  (cd "build/roots/$suite/usr" &&
    cp -rL --parents include/"python$version" include/*/"python$version" include/pybind11 lib/cmake/pybind11 "$work/tools")
  wheel "$tag" tools/root.sh "$suite" -- "-Dpybind11_DIR=$work/tools/lib/cmake/pybind11" \
    "-DCUBEJIT_PYTHON_HEADERS=$work/tools/include/python$version;$work/tools/include" \
    "-DCUBEJIT_PYTHON_SUFFIX=.cpython-$tag-$(uname -m)-linux-gnu.so"
done
ls -l dist
