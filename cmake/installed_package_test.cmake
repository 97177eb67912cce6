# cmake -D build=DIR -D example=DIR -D work=DIR [-D ccache=PROGRAM] -P installed_package_test.cmake
#
# Installs `build` into an empty prefix, builds `example` against nothing but that prefix, and runs
# the example's own tests. Runs the installed program, and the package of the installed wheel.

if(NOT ccache)
  set(ccache "")
endif()
set(ENV{CCACHE_BASEDIR} ${work})  # As in ccache.cmake; the compiler takes most of this test's time.
set(ENV{CCACHE_NOHASHDIR} 1)
file(REMOVE_RECURSE ${work})
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "failed: ${ARGV}")
  endif()
endfunction()
foreach(step
    "${CMAKE_COMMAND} --install ${build} --prefix ${work}/prefix"
    "${CMAKE_COMMAND} -S ${example} -B ${work}/build -G Ninja -D CMAKE_BUILD_TYPE=Debug -D CMAKE_PREFIX_PATH=${work}/prefix -D CMAKE_CXX_COMPILER_LAUNCHER=${ccache}"
    "${CMAKE_COMMAND} --build ${work}/build"
    "${CMAKE_CTEST_COMMAND} --test-dir ${work}/build --output-on-failure --no-tests=error")
  separate_arguments(command UNIX_COMMAND "${step}")
  run(${command})
endforeach()
run(${work}/prefix/bin/outpace --version)
file(GLOB programs RELATIVE ${work}/prefix/bin ${work}/prefix/bin/*)
if(NOT programs STREQUAL "outpace;outpace-torch")
  message(FATAL_ERROR "outpace and outpace-torch should be installed, and these are: ${programs}")
endif()
foreach(file man/man1/outpace-train.1 bash-completion/completions/outpace zsh/site-functions/_outpace
        fish/vendor_completions.d/outpace.fish outpace/systemd/outpace-server.service
        outpace/grafana/outpace.json)
  if(NOT EXISTS ${work}/prefix/share/${file})
    message(FATAL_ERROR "share/${file} should be installed")
  endif()
endforeach()
file(GLOB versioned ${work}/prefix/lib*/liboutpace.so.[0-9]*
                    ${work}/prefix/lib*/*/liboutpace.so.[0-9]*)
if(NOT versioned)
  message(FATAL_ERROR "liboutpace.so should have a version in its name")
endif()
file(GLOB wheel ${work}/prefix/share/outpace/outpace-*.whl)
run(/usr/bin/python3 -m pip --disable-pip-version-check install --quiet --no-deps --no-index
    --target ${work}/python ${wheel})
run(${CMAKE_COMMAND} -E env PYTHONPATH=${work}/python /usr/bin/python3 -c "from outpace import Worker")
