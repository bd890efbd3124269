# Tests of the whole: beyond those of the folders.

tacit_script_test(layering/includes ${TACIT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/layering/check_includes.py)
tacit_script_test(script/bootstrap ${TACIT_PYTHON} ${PROJECT_SOURCE_DIR}/tests/script/bootstrap.py)

# Faults in the noise, planted by linking another object in its place: the audit must refute each, for the reason given.
function(tacit_fault_test fault reason samples)
  set(target audit_${fault})
  if(NOT TARGET ${target})
    add_executable(${target} tests/audit/refute.c tests/audit/faults/${fault}.c)
    tacit_compile(${target})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${target} PRIVATE tc_audit)
  endif()
  if(TARGET tacit_command AND NOT TARGET tacit_with_${fault}) # for tests/audit/test_faulty_commands.py
    add_executable(tacit_with_${fault} src/cli/main.c tests/audit/faults/${fault}.c)
    tacit_compile(tacit_with_${fault})
    target_link_libraries(tacit_with_${fault} PRIVATE tc_cli)
  endif()
  add_test(NAME audit/${fault}/${reason} COMMAND ${target} ${reason} ${samples})
  set_tests_properties(audit/${fault}/${reason} PROPERTIES TIMEOUT 120)
endfunction()
tacit_fault_test(noise_halved epsilon 8000)
tacit_fault_test(noise_halved noise 2000)
tacit_fault_test(noise_forgotten support 2000)
tacit_fault_test(noise_reused reuse 2000)
tacit_fault_test(noise_in_floating_point lattice 2000)

if(TARGET tacit_command)
  # Fails the n-th allocation of the commands, for every n.
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

# Which thread draws.
set(draws -Wl,--wrap=tc_random_bulk,--wrap=tc_random_refine,--wrap=tc_ratchet)
target_link_options(privacy_test_ahead PRIVATE ${draws} -Wl,--wrap=tc_secret_sized)

# Prints what goes between the parts of an engine, for tests/engine/test_method_*.py.
add_executable(engine_method_dump tests/engine/method_dump.c)
tacit_compile(engine_method_dump)
target_link_libraries(engine_method_dump PRIVATE tc_engine)
target_link_options(
  engine_method_dump PRIVATE
  -Wl,--wrap=tc_gauge_take_whole,--wrap=tc_gauge_take_forms,--wrap=tc_gauge_answer_whole
  -Wl,--wrap=tc_pilot_open,--wrap=tc_pilot_step)

# The command with every round of `run` written down, for tests/serve/test_same_bits.py.
if(TARGET tacit_command)
  add_executable(tacit_trajectory src/cli/main.c tests/serve/trajectory.c)
  tacit_compile(tacit_trajectory)
  target_link_libraries(tacit_trajectory PRIVATE tc_cli)
  target_link_options(tacit_trajectory PRIVATE -Wl,--wrap=tc_engine_advance)
  # The command that counts who draws, for tests/serve/test_draws.py, and one whose time depends on a state, for
  # tests/serve/answer_times.py.
  add_executable(tacit_watched src/cli/main.c tests/serve/watched.c)
  tacit_compile(tacit_watched)
  target_include_directories(tacit_watched PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(tacit_watched PRIVATE tc_cli)
  target_link_options(tacit_watched PRIVATE ${draws})
  add_executable(tacit_planted_delay src/cli/main.c tests/serve/planted_delay.c)
  tacit_compile(tacit_planted_delay)
  target_link_libraries(tacit_planted_delay PRIVATE tc_cli)
  target_link_options(tacit_planted_delay PRIVATE -Wl,--wrap=tc_states_from_integers,--wrap=tc_engine_round)
endif()
