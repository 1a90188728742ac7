# Decides where build files written for the Ascend toolkit find this library: the toolkit's folders, and its libraries' names as links. A
# component of its own that no other install brings: `cmake --install BUILD --component ascend_toolkit --prefix FOLDER`, and FOLDER stands
# for their ASCEND_HOME_PATH (FOLDER/set_env.sh says so).
set(CUBEJIT_TOOLKIT COMPONENT ascend_toolkit EXCLUDE_FROM_ALL)

install(DIRECTORY api/acl/include/ api/ascendc/include/ include/cubejit DESTINATION include ${CUBEJIT_TOOLKIT} PATTERN machines EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/generated/cubejit/algorithm_plans.h DESTINATION include/cubejit ${CUBEJIT_TOOLKIT})
foreach(algorithm ${CUBEJIT_ALGORITHMS} cube)
  install(FILES algorithms/${algorithm}/plan.h DESTINATION include/cubejit/algorithms/${algorithm} ${CUBEJIT_TOOLKIT})
endforeach()
foreach(target cubejit_shared cubejit_acl cubejit_llvm)
  if(TARGET ${target})
    install(TARGETS ${target} LIBRARY DESTINATION lib64 ${CUBEJIT_TOOLKIT})
  endif()
endforeach()
install(FILES cmake/set_env.sh DESTINATION . ${CUBEJIT_TOOLKIT})

# Names that documented build files link: the ACL runtime and aclnn; tiling classes and platform.
foreach(link ascendcl:cubejit_acl nnopbase:cubejit_acl opapi:cubejit_acl
             tiling_api:cubejit_shared platform:cubejit_shared register:cubejit_shared)
  string(REPLACE ":" ";" link ${link})
  list(GET link 0 name)
  list(GET link 1 target)
  install(CODE "file(CREATE_LINK $<TARGET_LINKER_FILE_NAME:${target}> \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib64/lib${name}.so\" SYMBOLIC)"
          ${CUBEJIT_TOOLKIT})
endforeach()
