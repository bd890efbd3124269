# tacit_folder(name others...): the library of src/name, linked to the other folders. Unless it lies in another folder,
# also a test for each tests/name/test_*.py and test_*.c (linked to this library and what TACIT_TESTS_OF_name adds).

set(TACIT_WARNINGS
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wswitch-enum
    -Wnull-dereference)

function(tacit_compile target)
  target_compile_options(${target} PRIVATE ${TACIT_WARNINGS} -ffp-contract=off -fno-fast-math -fno-math-errno)
  target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
endfunction()

# Adds a test. Its labels are those of the line "labels: ..." in its file; tests/README.md says what they mean.
function(tacit_test name file)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 1800)
  file(STRINGS ${file} labels REGEX "^(/\\*|#) labels: " LIMIT_COUNT 1)
  string(REGEX MATCHALL "[a-z]+(-[a-z]+)?" labels "${labels}")
  list(REMOVE_ITEM labels labels)
  foreach(label IN LISTS labels)
    if(NOT label IN_LIST TACIT_LABELS)
      message(FATAL_ERROR "${file}: there is no label '${label}'; those that there are: ${TACIT_LABELS}")
    endif()
  endforeach()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}")
  if("long" IN_LIST labels) # begins first, so that no processor waits for it in the end
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()
set(TACIT_LABELS long once only-asan not-asan not-clang threads)

# A test written in Python or shell: it finds the command in $TACIT and the sources in $TACIT_SOURCE_DIR. Under sanitizers
# $TACIT_SANITIZE names them, and tests may try fewer cases.
function(tacit_script_test name script)
  if(script MATCHES "\\.py$")
    tacit_test(${name} ${script} ${TACIT_PYTHON} ${script} ${ARGN})
  else()
    tacit_test(${name} ${script} ${script} ${ARGN})
  endif()
  set_tests_properties(
    ${name}
    PROPERTIES
      ENVIRONMENT
      "TACIT=${PROJECT_BINARY_DIR}/tacit;TACIT_SOURCE_DIR=${PROJECT_SOURCE_DIR};TACIT_BINARY_DIR=${PROJECT_BINARY_DIR};TACIT_SANITIZE=${TACIT_SANITIZE}")
endfunction()

# A test written in C: a cmocka program linked to the libraries given.
function(tacit_c_test name file)
  string(REPLACE "/" "_" target ${name})
  add_executable(${target} ${file})
  tacit_compile(${target})
  target_compile_options(${target} PRIVATE -Wno-null-dereference) # cmocka's asserts do not tell the compiler
  # The test itself, not what it tests, is compiled in half the time. Without -O2 gcc's guesses of lengths are poor.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>)
  target_compile_definitions(${target} PRIVATE TACIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE ${ARGN} cmocka)
  file(STRINGS ${file} wants_mpfr REGEX "^#include <mpfr.h>")
  if(wants_mpfr)
    target_link_libraries(${target} PRIVATE mpfr gmp)
  endif()
  tacit_test(${name} ${file} ${target})
  get_test_property(${name} LABELS labels)
  if("threads" IN_LIST labels)
    add_dependencies(tests_of_threads ${target})
  endif()
endfunction()
if(TACIT_TESTS)
  add_custom_target(tests_of_threads) # what the preset tsan builds
endif()

function(tacit_folder_tests name)
  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/test_*.c)
  foreach(test IN LISTS tests)
    get_filename_component(stem ${test} NAME_WE)
    tacit_c_test(${name}/${stem} ${test} tc_${name} ${TACIT_TESTS_OF_${name}})
  endforeach()
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/test_*.py)
  foreach(script IN LISTS scripts)
    get_filename_component(stem ${script} NAME_WE)
    tacit_script_test(${name}/${stem} ${script})
  endforeach()
endfunction()

# The library of src/a/b is tc_a_b. What lies in a folder that is declared inside this one is not part of this library,
# nor is a main.c, which belongs to a program, or an mpi.c, which belongs to tacit-mpi.
function(tacit_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c)
  get_property(folders GLOBAL PROPERTY TACIT_FOLDERS)
  foreach(inside IN LISTS folders)
    list(FILTER sources EXCLUDE REGEX "/src/${inside}/")
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/(main|mpi)\\.c$")
  string(REPLACE / _ library tc_${name})
  add_library(${library} STATIC ${sources})
  tacit_compile(${library})
  foreach(other IN LISTS ARGN)
    string(REPLACE / _ other tc_${other})
    target_link_libraries(${library} PUBLIC ${other})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY TACIT_FOLDERS ${name})
  target_link_libraries(${library} PUBLIC m)
  if(TACIT_TESTS AND NOT name MATCHES /)
    tacit_folder_tests(${name})
  endif()
endfunction()
