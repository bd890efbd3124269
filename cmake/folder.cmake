# tacit_folder(name others...): the library of src/name, linked to the other folders, and, unless it lies in another
# folder, a test for each tests/name/test_*.c (a cmocka program linked to this library alone, and to what
# TACIT_TESTS_OF_name adds) and tests/name/test_*.py.

set(TACIT_WARNINGS
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wold-style-definition -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wswitch-enum
    -Wnull-dereference)

function(tacit_compile target)
  target_compile_options(${target} PRIVATE ${TACIT_WARNINGS} -ffp-contract=off -fno-fast-math -fno-math-errno)
  target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
endfunction()

# A test written in Python or shell: it finds the command in $TACIT and the sources in $TACIT_SOURCE_DIR.
function(tacit_script_test name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(
    ${name}
    PROPERTIES
      TIMEOUT 600
      ENVIRONMENT
      "TACIT=${PROJECT_BINARY_DIR}/tacit;TACIT_SOURCE_DIR=${PROJECT_SOURCE_DIR};TACIT_BINARY_DIR=${PROJECT_BINARY_DIR}")
endfunction()

function(tacit_folder_tests name)
  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/test_*.c)
  foreach(test IN LISTS tests)
    get_filename_component(stem ${test} NAME_WE)
    set(target ${name}_${stem})
    add_executable(${target} ${test})
    tacit_compile(${target})
    target_compile_options(${target} PRIVATE -Wno-null-dereference) # cmocka's asserts do not tell the compiler
    target_compile_definitions(${target} PRIVATE TACIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${target} PRIVATE tc_${name} ${TACIT_TESTS_OF_${name}} cmocka)
    file(STRINGS ${test} wants_mpfr REGEX "^#include <mpfr.h>")
    if(wants_mpfr)
      target_link_libraries(${target} PRIVATE mpfr gmp)
    endif()
    add_test(NAME ${name}/${stem} COMMAND ${target})
    set_tests_properties(${name}/${stem} PROPERTIES TIMEOUT 600)
  endforeach()
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${name}/test_*.py)
  foreach(script IN LISTS scripts)
    get_filename_component(stem ${script} NAME_WE)
    tacit_script_test(${name}/${stem} ${TACIT_PYTHON} ${script})
  endforeach()
endfunction()

# The library of src/a/b is tc_a_b. What lies in a folder that is declared inside this one is not part of this library,
# nor is a main.c, which belongs to a program.
function(tacit_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c)
  get_property(folders GLOBAL PROPERTY TACIT_FOLDERS)
  foreach(inside IN LISTS folders)
    list(FILTER sources EXCLUDE REGEX "/src/${inside}/")
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
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
