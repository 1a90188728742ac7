# Decides where things go when installed: GNU folders, a CMake package, a pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS cubejit_shared cubejit_static cubejit_ascendc cubejit_tbe cubejit_acl EXPORT cubejitTargets)
if(TARGET cubejit_llvm)
  install(TARGETS cubejit_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
# The table of machines is the library's own; users reach it by name, through machines.h.
install(DIRECTORY include/cubejit TYPE INCLUDE PATTERN machines EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/generated/cubejit/algorithm_plans.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cubejit)
foreach(algorithm ${CUBEJIT_ALGORITHMS} cube)
  install(FILES algorithms/${algorithm}/plan.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cubejit/algorithms/${algorithm})
endforeach()
install(DIRECTORY api/ascendc/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cubejit-ascendc)
install(DIRECTORY api/tbe/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cubejit-tbe)
install(DIRECTORY api/acl/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cubejit-acl)
install(FILES LICENSE README.md CHANGELOG.md TYPE DOC)
if(TARGET cubejit_cli)
  install(TARGETS cubejit_cli)
endif()

set(CUBEJIT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/cubejit)
set_target_properties(cubejit_static PROPERTIES EXPORT_NAME cubejit_static)
install(EXPORT cubejitTargets NAMESPACE cubejit:: DESTINATION ${CUBEJIT_CMAKE_DIR})
configure_package_config_file(cmake/cubejitConfig.cmake.in cubejitConfig.cmake INSTALL_DESTINATION ${CUBEJIT_CMAKE_DIR})
write_basic_package_version_file(cubejitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cubejitConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/cubejitConfigVersion.cmake
        DESTINATION ${CUBEJIT_CMAKE_DIR})

# Relative to the file itself, so that --prefix may be chosen when installing.
file(RELATIVE_PATH CUBEJIT_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/cubejit.pc.in cubejit.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cubejit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
