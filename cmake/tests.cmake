# Tests of the whole: beyond those of the folders.

tacit_script_test(layering/includes ${TACIT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/layering/check_includes.py)
tacit_script_test(script/bootstrap ${TACIT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/script/bootstrap.py)

if(TARGET tacit_command)
  # Fails the n-th allocation of check and solve, for every n.
  add_executable(failing_allocator tests/torture/failing_allocator.c)
  tacit_compile(failing_allocator)
  target_compile_definitions(failing_allocator PRIVATE TACIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(failing_allocator PRIVATE tc_cli)
  target_link_options(failing_allocator PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=tc_arena_alloc)
  add_test(NAME torture/failing_allocator COMMAND failing_allocator)
  set_tests_properties(torture/failing_allocator PROPERTIES TIMEOUT 600)

  # An outside program would need the sanitizer too.
  if(NOT TACIT_SANITIZE)
    tacit_script_test(install/outside_program ${PROJECT_SOURCE_DIR}/tests/install/run ${CMAKE_COMMAND}
                      ${CMAKE_C_COMPILER})
  endif()
endif()
