# The LLVM component: backend and loader in one module that exports a single symbol. The library loads it with dlopen() when
# the backend is asked for; nothing links it.
add_library(cubejit_llvm MODULE runtime/loader/orc/component.cpp)
set(CUBEJIT_LLVM_EXPORTS ${CMAKE_CURRENT_LIST_DIR}/llvm_exports.map)
target_link_libraries(cubejit_llvm PRIVATE cubejit_load_orc cubejit_llvm_backend cubejit_binary)
# Its own copies of this project's functions are bound to each other, whatever the process exports.
target_link_options(cubejit_llvm PRIVATE -Wl,--version-script=${CUBEJIT_LLVM_EXPORTS} -Wl,--no-undefined -Wl,-Bsymbolic)
set_target_properties(cubejit_llvm PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CUBEJIT_COMPONENT_DIR}
                      LINK_DEPENDS ${CUBEJIT_LLVM_EXPORTS})
