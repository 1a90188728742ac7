# The library users link: the three modules' objects in one file, static or shared, with the public headers only.
# Inside the project the modules are linked one by one instead, so that tests can reach everything.
foreach(kind static shared)
  string(TOUPPER ${kind} KIND)
  add_library(cubejit_${kind} ${KIND} $<TARGET_OBJECTS:cubejit_tiling> $<TARGET_OBJECTS:cubejit_algorithms> $<TARGET_OBJECTS:cubejit_codegen>
              $<TARGET_OBJECTS:cubejit_emulation>
              $<TARGET_OBJECTS:cubejit_runtime> $<TARGET_OBJECTS:cubejit_api>)
  target_include_directories(cubejit_${kind} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
                             $<INSTALL_INTERFACE:include>)
  target_compile_features(cubejit_${kind} PUBLIC cxx_std_17)
  target_link_libraries(cubejit_${kind} PRIVATE TBB::tbb Threads::Threads SQLite3::SQLite3 ${CMAKE_DL_LIBS})
  set_target_properties(cubejit_${kind} PROPERTIES OUTPUT_NAME cubejit LINKER_LANGUAGE CXX)
endforeach()

# Exported is what include/cubejit/export.h marks; the map keeps the standard library's instantiations inside.
set(CUBEJIT_EXPORTS ${CMAKE_CURRENT_LIST_DIR}/exports.map)
set_target_properties(cubejit_shared PROPERTIES EXPORT_NAME cubejit VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} LINK_DEPENDS ${CUBEJIT_EXPORTS})
target_link_options(cubejit_shared PRIVATE -Wl,--version-script=${CUBEJIT_EXPORTS} -Wl,--no-undefined)
add_library(cubejit::cubejit ALIAS cubejit_shared)
add_library(cubejit::cubejit_static ALIAS cubejit_static)

# The LLVM component is installed beside the shared library.
set_target_properties(cubejit_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
