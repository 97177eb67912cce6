# Takes from ccache's store what was compiled before, here or in a clone elsewhere. Without ccache
# everything is compiled; so it is with -DCMAKE_CXX_COMPILER_LAUNCHER= (empty).
#
# Two clones share what they compile because no path of theirs gets into an object: ccache passes
# the compiler relative paths, and the compiler shortens the rest. __FILE__ and a backtrace's lines
# are of the form ./src/base/check.cc or ../../src/base/check.cc; start gdb in the clone's root.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
find_program(OUTPACE_CCACHE ccache)
mark_as_advanced(OUTPACE_CCACHE)
if(OUTPACE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      ${OUTPACE_CCACHE})
endif()
