# The kernel generator alone, for programs that make tile programs of their own: `cmake --install BUILD --component codegen --prefix PREFIX`,
# then find_package(cubejit COMPONENTS codegen) gives cubejit::codegen, a static library that needs C++20. No other install brings it: its
# headers are the project's own, and change with every version. Without LLVM, whose backend is in an object of its own.
set(CUBEJIT_CODEGEN COMPONENT codegen EXCLUDE_FROM_ALL)
set(CUBEJIT_CODEGEN_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR}/cubejit-codegen)

install(TARGETS cubejit_codegen EXPORT cubejitCodegenTargets ARCHIVE ${CUBEJIT_CODEGEN})
install(DIRECTORY codegen DESTINATION ${CUBEJIT_CODEGEN_INCLUDE} ${CUBEJIT_CODEGEN} FILES_MATCHING PATTERN *.h PATTERN *.def
        PATTERN binary EXCLUDE PATTERN llvm_backend EXCLUDE)
foreach(header dtype export float16 host_isa kernel_args matrix_unit microkernel_registers mkn post_ops result)
  install(FILES include/cubejit/${header}.h DESTINATION ${CUBEJIT_CODEGEN_INCLUDE}/cubejit ${CUBEJIT_CODEGEN})
endforeach()
set_target_properties(cubejit_codegen PROPERTIES EXPORT_NAME codegen)
install(EXPORT cubejitCodegenTargets NAMESPACE cubejit:: DESTINATION ${CUBEJIT_CMAKE_DIR} ${CUBEJIT_CODEGEN})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cubejitConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/cubejitConfigVersion.cmake
        DESTINATION ${CUBEJIT_CMAKE_DIR} ${CUBEJIT_CODEGEN})
