# One test of CTest for each suite of a program of tests, not for each test as gtest_discover_tests()
# has it: for programs that take a second to load libtorch before they begin.
#
# Included, it gives add_suites(<program> <prefix> <label>). Every build of the program runs this file
# as a script, `cmake -D program=PATH -D prefix=NAME/ -D label=LABEL -D out=FILE -P suites.cmake`,
# which asks the program for its suites; so none can be forgotten.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(suites_script ${CMAKE_CURRENT_LIST_FILE})
  function(add_suites program prefix label)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
    add_custom_command(TARGET ${program} POST_BUILD BYPRODUCTS ${out} VERBATIM
                       COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:${program}>
                               -D prefix=${prefix} -D label=${label} -D out=${out}
                               -P ${suites_script})
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${program}_include.cmake
         "if(EXISTS \"${out}\")\n  include(\"${out}\")\nelse()\n"
         "  add_test(${program}_NOT_BUILT ${program}_NOT_BUILT)\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
                 ${CMAKE_CURRENT_BINARY_DIR}/${program}_include.cmake)
  endfunction()
  return()
endif()

execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listed
                RESULT_VARIABLE failed)
string(REGEX MATCHALL "[^\n]+" lines "${listed}")
set(text "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([A-Za-z0-9_/]+)[.]( |$)")
    set(name "${prefix}${CMAKE_MATCH_1}")
    string(APPEND text "add_test([==[${name}]==] \"${program}\" \"--gtest_filter=${CMAKE_MATCH_1}.*\")\n"
           "set_tests_properties([==[${name}]==] PROPERTIES LABELS ${label})\n")
  endif()
endforeach()
if(failed OR text STREQUAL "")
  file(REMOVE ${program})
  message(FATAL_ERROR "${program} --gtest_list_tests: no suites (${failed})\n${listed}")
endif()
file(WRITE ${out} "${text}")
