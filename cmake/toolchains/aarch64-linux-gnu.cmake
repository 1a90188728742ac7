# Cross-compiles for AArch64 with Debian's compiler, against packages that tools/aarch64_root.sh unpacked into
# CUBEJIT_AARCH64_ROOT; tests run under qemu-user, with SVE of 256 bits.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CUBEJIT_AARCH64_ROOT "" CACHE PATH "Folder with unpacked arm64 packages")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CUBEJIT_AARCH64_ROOT)
set(CMAKE_FIND_ROOT_PATH ${CUBEJIT_AARCH64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(libraries ${CUBEJIT_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu)
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L${libraries} -Wl,-rpath-link,${libraries} -Wl,-rpath-link,${CUBEJIT_AARCH64_ROOT}/lib/aarch64-linux-gnu")
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu max,sve256=on,sve-default-vector-length=32 -L /usr/aarch64-linux-gnu
    -E LD_LIBRARY_PATH=${libraries}:${CUBEJIT_AARCH64_ROOT}/lib/aarch64-linux-gnu)
