# cmake -D build=DIR -D example=DIR -D work=DIR -P installed_package_test.cmake
#
# Installs `build` into an empty prefix, builds `example` against nothing but that prefix, and runs
# the example's own tests.

file(REMOVE_RECURSE ${work})
foreach(step
    "${CMAKE_COMMAND} --install ${build} --prefix ${work}/prefix"
    "${CMAKE_COMMAND} -S ${example} -B ${work}/build -G Ninja -D CMAKE_BUILD_TYPE=Debug -D CMAKE_PREFIX_PATH=${work}/prefix"
    "${CMAKE_COMMAND} --build ${work}/build"
    "${CMAKE_CTEST_COMMAND} --test-dir ${work}/build --output-on-failure --no-tests=error")
  separate_arguments(command UNIX_COMMAND "${step}")
  execute_process(COMMAND ${command} COMMAND_ECHO STDOUT RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "failed: ${step}")
  endif()
endforeach()
