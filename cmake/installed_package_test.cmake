# cmake -D build=DIR -D example=DIR -D work=DIR [-D ccache=PROGRAM] -P installed_package_test.cmake
#
# Installs `build` into an empty prefix, builds `example` against nothing but that prefix, and runs
# the example's own tests.

if(NOT ccache)
  set(ccache "")
endif()
set(ENV{CCACHE_BASEDIR} ${work})  # As in ccache.cmake; the compiler takes most of this test's time.
set(ENV{CCACHE_NOHASHDIR} 1)
file(REMOVE_RECURSE ${work})
foreach(step
    "${CMAKE_COMMAND} --install ${build} --prefix ${work}/prefix"
    "${CMAKE_COMMAND} -S ${example} -B ${work}/build -G Ninja -D CMAKE_BUILD_TYPE=Debug -D CMAKE_PREFIX_PATH=${work}/prefix -D CMAKE_CXX_COMPILER_LAUNCHER=${ccache}"
    "${CMAKE_COMMAND} --build ${work}/build"
    "${CMAKE_CTEST_COMMAND} --test-dir ${work}/build --output-on-failure --no-tests=error")
  separate_arguments(command UNIX_COMMAND "${step}")
  execute_process(COMMAND ${command} COMMAND_ECHO STDOUT RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "failed: ${step}")
  endif()
endforeach()
