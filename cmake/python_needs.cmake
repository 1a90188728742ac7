# Decides what the Python packages are built with. Where CUBEJIT_PYTHON is ON they are left out if something is missing; where it is REQUIRED, as a
# wheel has it, that is an error, before anything is compiled.
set(CUBEJIT_PYTHON_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "The interpreter the packages are built for")
set(Python_EXECUTABLE ${CUBEJIT_PYTHON_EXECUTABLE})
find_package(Python 3.9 COMPONENTS Interpreter Development.Module QUIET)
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 2.10 CONFIG QUIET)
find_path(CUBEJIT_DLPACK_DIR dlpack/dlpack.h)
set(missing "")
if(NOT Python_FOUND)
  string(APPEND missing "\n  Python 3.9 or later with its headers, of ${CUBEJIT_PYTHON_EXECUTABLE}: apt-get install python3-dev")
endif()
if(NOT pybind11_FOUND)
  string(APPEND missing "\n  pybind11 2.10 or later: apt-get install pybind11-dev, or pip install pybind11 (then -Dpybind11_DIR=FOLDER, which python3 -m pybind11 --cmakedir prints; setup.py does so)")
endif()
if(NOT CUBEJIT_DLPACK_DIR)
  string(APPEND missing "\n  DLPack's header dlpack/dlpack.h: apt-get install libdlpack-dev, or -DCUBEJIT_DLPACK_DIR=FOLDER, which has dlpack/ in it")
endif()
if(missing AND CUBEJIT_PYTHON STREQUAL "REQUIRED")
  message(FATAL_ERROR "The Python packages cannot be built. Missing:${missing}\nOn Debian tools/setup.sh python installs all of it. In CMAKE_ARGS setup.py takes more -D.")
elseif(missing)
  message(STATUS "python: left out, missing is:${missing}\n  (tools/setup.sh python)")
  set(CUBEJIT_PYTHON OFF)
endif()

# PyTorch's headers, of the interpreter's own PyTorch, from the first version that the kernels in C++ (python/torch_kernels/) were tried with.
set(CUBEJIT_TORCH_VERSION "")
if(CUBEJIT_PYTHON)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import torch
path = torch.__path__[0]
print(torch.__version__.partition('+')[0], int(torch._C._GLIBCXX_USE_CXX11_ABI), f'{path}/lib', f'{path}/include', sep=';')"
    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(LENGTH found parts)
  if(parts EQUAL 4)
    list(POP_FRONT found version abi libraries headers)
    if(version VERSION_LESS 2.6 OR NOT abi OR NOT EXISTS ${headers}/torch/library.h)
      message(STATUS "python: PyTorch ${version} is older than 2.6 or has no headers (apt-get install libtorch-dev): "
        "its kernels of cubejit are in Python")
    else()
      set(CUBEJIT_TORCH_VERSION ${version})
      set(CUBEJIT_TORCH_INCLUDE ${headers})
      set(CUBEJIT_TORCH_LIBRARIES ${libraries}/libtorch_cpu.so ${libraries}/libc10.so)
    endif()
  endif()
endif()
