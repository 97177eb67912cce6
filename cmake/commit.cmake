# commit.h: what the program was built from, for reports of failures. Looked up at every build, and
# written only if it changed. `cmake -DSOURCE=... -DOUT=... -P commit.cmake` is how a build runs it.

execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit "unknown")
endif()
set(text "// Written by every build.\n#pragma once\n\ninline constexpr const char* kCommit = \"${commit}\";\n")
set(before "")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
