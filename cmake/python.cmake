# liboutpace.so, the C interface of include/outpace/worker_c.h, and the wheel of python/outpace.
#
# Its sources are compiled again as position-independent code, with hidden names and with fmt's
# headers in place of its library. It links OpenSSL and the C++ library from their archives. For
# ISA-L Debian has no archive, and the one of protobuf is not position-independent: the wheel brings
# the two shared libraries, and $ORIGIN finds them. All else is in the C library's package.
set(shared_dir ${CMAKE_BINARY_DIR}/python/outpace)
set(shared_objects "")
# outpace_shared_objects(<folder> [<file>...]): all sources of the folder, or only these.
function(outpace_shared_objects folder)
  outpace_folder(${folder} dir wing)
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  if(ARGN)
    set(sources ${ARGN})
    list(TRANSFORM sources PREPEND ${dir}/)
  endif()
  set(target outpace_shared_${folder})
  add_library(${target} OBJECT ${sources})
  add_dependencies(${target} outpace_messages)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        EXPORT_COMPILE_COMMANDS OFF)  # clang-tidy has seen these sources.
  target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src/core ${CMAKE_SOURCE_DIR}/src/world
                             ${CMAKE_SOURCE_DIR}/include)
  target_include_directories(${target} SYSTEM PRIVATE ${wire_dir})
  set(shared_objects ${shared_objects} $<TARGET_OBJECTS:${target}> PARENT_SCOPE)
endfunction()
outpace_shared_objects(base)
outpace_shared_objects(compress)
outpace_shared_objects(protocol)
outpace_shared_objects(wire)
outpace_shared_objects(worker)
outpace_shared_objects(launch)
outpace_shared_objects(live control.cc environment.cc evaluator.cc lasting_evaluator.cc
                       lasting_session.cc leaving.cc pass_log.cc push_packer.cc reaching.cc script.cc token_file.cc worker.cc
                       worker_session.cc)
outpace_shared_objects(c_interface)
# As outpace_messages, but position-independent.
add_library(outpace_shared_messages OBJECT ${wire_dir}/outpace.pb.cc)
add_dependencies(outpace_shared_messages outpace_messages)
target_compile_options(outpace_shared_messages PRIVATE -w)
set_target_properties(outpace_shared_messages PROPERTIES POSITION_INDEPENDENT_CODE ON
                      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

add_library(outpace_shared SHARED ${shared_objects} $<TARGET_OBJECTS:outpace_shared_messages>)
# A program that was linked with an older interface finds its own library, or none.
file(STRINGS ${CMAKE_SOURCE_DIR}/include/outpace/worker_c.h c_version REGEX "^#define OUTPACE_C_VERSION ")
string(REGEX MATCH "[0-9]+" c_version "${c_version}")
set_target_properties(outpace_shared PROPERTIES OUTPUT_NAME outpace BUILD_RPATH "\$ORIGIN"
                      VERSION ${c_version} SOVERSION ${c_version}
                      LIBRARY_OUTPUT_DIRECTORY ${shared_dir})
find_library(PROTOBUF_LITE libprotobuf-lite.so REQUIRED)
find_library(SSL_ARCHIVE libssl.a REQUIRED)
find_library(CRYPTO_ARCHIVE libcrypto.a REQUIRED)
target_link_libraries(outpace_shared PRIVATE ${PROTOBUF_LITE} ${SSL_ARCHIVE}
                      ${CRYPTO_ARCHIVE} PkgConfig::ISAL Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(outpace_shared PRIVATE -Wl,-Bsymbolic -Wl,--exclude-libs,ALL
                    -Wl,--gc-sections
                    -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/liboutpace.map)
set_target_properties(outpace_shared PROPERTIES LINK_DEPENDS
                      ${CMAKE_SOURCE_DIR}/cmake/liboutpace.map)
if(NOT OUTPACE_SANITIZE AND NOT OUTPACE_FUZZ)  # A sanitizer's runtime belongs to the program.
  target_link_options(outpace_shared PRIVATE -Wl,--no-undefined -static-libstdc++ -static-libgcc)
endif()

# The package, usable from the build tree: PYTHONPATH=build/release/python.
file(GLOB_RECURSE python_sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python
     ${CMAKE_SOURCE_DIR}/python/outpace/*.py ${CMAKE_SOURCE_DIR}/python/outpace/py.typed)
set(python_copies "")
foreach(source IN LISTS python_sources)
  set(copy ${CMAKE_BINARY_DIR}/python/${source})
  add_custom_command(OUTPUT ${copy} DEPENDS ${CMAKE_SOURCE_DIR}/python/${source} VERBATIM
                     COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/python/${source} ${copy})
  list(APPEND python_copies ${copy})
endforeach()
add_custom_target(outpace_python ALL DEPENDS ${python_copies})
add_dependencies(outpace_python outpace_shared)
