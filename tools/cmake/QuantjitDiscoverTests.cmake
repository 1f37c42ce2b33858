# SPDX-License-Identifier: Apache-2.0
# Script, run after a test program is linked: lists its test cases and writes one ctest for each into OUTPUT.
# Catch2's own discovery loses semicolons in names and all but the first of several labels in 2.13.
# Needs: PROGRAM, OUTPUT, CATCH_MAJOR (2 or 3), LABELS (separated by commas).

if(CATCH_MAJOR EQUAL 2)
  set(list_arguments --list-test-names-only)
  set(run_arguments --warn NoTests)  # a name that selects no test case must fail, as it does in Catch2 3
else()
  set(list_arguments --list-tests --verbosity quiet)
  set(run_arguments "")
endif()

execute_process(COMMAND "${PROGRAM}" ${list_arguments} OUTPUT_VARIABLE names ERROR_VARIABLE errors
                RESULT_VARIABLE status TIMEOUT 60)
# The status of 2.13 is the number of test cases, so the list itself is what tells success.
if(names STREQUAL "" OR NOT status MATCHES "^[0-9]+$")
  message(FATAL_ERROR "${PROGRAM} lists no test cases (status ${status}): ${errors}")
endif()

# Test cases tagged [long] run only in full checks. The two lists are compared with the line ends around a name.
execute_process(COMMAND "${PROGRAM}" "[long]" ${list_arguments} OUTPUT_VARIABLE long_names ERROR_QUIET TIMEOUT 60)
set(long_names "\n${long_names}\n")

string(REPLACE "," ";" labels "${LABELS}")
list(GET labels 0 group)
set(script "")
while(NOT names STREQUAL "")
  string(FIND "${names}" "\n" end)
  if(end EQUAL -1)
    string(LENGTH "${names}" end)
  endif()
  string(SUBSTRING "${names}" 0 ${end} name)
  math(EXPR next "${end} + 1")
  string(LENGTH "${names}" length)
  if(next GREATER length)
    set(names "")
  else()
    string(SUBSTRING "${names}" ${next} -1 names)
  endif()
  if(name STREQUAL "")
    continue()
  endif()
  string(FIND "${long_names}" "\n${name}\n" position)
  set(test_labels "${labels}")
  if(NOT position EQUAL -1)
    list(APPEND test_labels long)
  endif()
  if(name MATCHES "^\"(#.*)\"$")  # 2.13 quotes names that begin with #
    set(name "${CMAKE_MATCH_1}")
  endif()
  string(REGEX REPLACE "([][\\,\"~*])" "\\\\\\1" pattern "${name}")
  string(APPEND script
    "add_test([==[${group}: ${name}]==] [==[${PROGRAM}]==] [==[${pattern}]==] ${run_arguments})\n"
    "set_tests_properties([==[${group}: ${name}]==] PROPERTIES LABELS [==[${test_labels}]==] TIMEOUT 300 "
    "SKIP_REGULAR_EXPRESSION [==[\\[skipped\\]]==])\n")
endwhile()
file(WRITE "${OUTPUT}" "${script}")
