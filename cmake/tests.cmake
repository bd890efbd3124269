# Tests of the whole, beyond those of the folders.

set(tests ${PROJECT_SOURCE_DIR}/tests)
tacit_script_test(layering/includes ${tests}/layering/check_includes.py)
tacit_script_test(layering/names ${tests}/layering/check_names.py)
tacit_script_test(layering/sizes ${tests}/layering/check_sizes.py)
tacit_script_test(layering/paper ${tests}/layering/check_paper.py)
tacit_script_test(script/bootstrap ${tests}/script/bootstrap.py)

# Faults in the noise, planted by linking another object in its place: the audit must refute each, for the reason given.
function(tacit_fault_test fault reason samples)
  set(target audit_${fault})
  if(NOT TARGET ${target})
    add_executable(${target} tests/audit/refute.c tests/audit/faults/${fault}.c)
    tacit_compile(${target})
    target_include_directories(${target} PRIVATE ${tests})
    target_link_libraries(${target} PRIVATE tc_audit)
  endif()
  tacit_test(audit/${fault}/${reason} ${tests}/audit/refute.c ${target} ${reason} ${samples})
endfunction()
tacit_fault_test(noise_halved epsilon 8000)
tacit_fault_test(noise_halved noise 2000)
tacit_fault_test(noise_forgotten support 2000)
tacit_fault_test(noise_reused reuse 2000)
tacit_fault_test(noise_in_floating_point lattice 2000)

# Mutants: the whole command with a fault linked in, tacit_with_NAME. tests/audit/mutants.py says what must find each;
# script/mutants prints the table. END_TO_END: the program for audit --end-to-end has the fault too.
function(tacit_mutant name)
  cmake_parse_arguments(mutant "END_TO_END" "" "SOURCES;WRAP;DEFINE" ${ARGN})
  if(NOT mutant_SOURCES)
    set(mutant_SOURCES ${name})
  endif()
  list(TRANSFORM mutant_SOURCES REPLACE "(.+)" "tests/audit/faults/\\1.c")
  list(TRANSFORM mutant_WRAP PREPEND "-Wl,--wrap=")
  set(targets tacit_with_${name})
  add_executable(tacit_with_${name} src/cli/main.c ${mutant_SOURCES})
  tacit_compile(tacit_with_${name})
  target_link_libraries(tacit_with_${name} PRIVATE tc_cli)
  if(mutant_END_TO_END)
    tacit_end_to_end(tacit_with_${name}_end_to_end tacit_with_${name}-end-to-end ${mutant_SOURCES})
    list(APPEND targets tacit_with_${name}_end_to_end)
  endif()
  foreach(target IN LISTS targets)
    target_compile_options(${target} PRIVATE -Wno-missing-prototypes)
    target_compile_definitions(${target} PRIVATE ${mutant_DEFINE})
    target_include_directories(${target} PRIVATE ${tests})
    target_link_options(${target} PRIVATE ${mutant_WRAP})
    add_dependencies(mutants ${target})
  endforeach()
endfunction()
# The same for a test in C: FOLDER_TEST_with_FAULT must fail.
function(tacit_mutant_of_test test fault)
  string(REPLACE "/" "_" target ${test})
  add_executable(${target}_with_${fault} tests/${test}.c tests/audit/faults/${fault}.c)
  tacit_compile(${target}_with_${fault})
  target_compile_options(${target}_with_${fault} PRIVATE -Wno-null-dereference -Wno-missing-prototypes)
  target_compile_definitions(${target}_with_${fault} PRIVATE TACIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(${target}_with_${fault} PRIVATE ${tests})
  target_link_libraries(${target}_with_${fault} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
  target_link_options(${target}_with_${fault} PRIVATE $<TARGET_PROPERTY:${target},LINK_OPTIONS>)
  add_dependencies(mutants ${target}_with_${fault} ${target})
endfunction()
if(TARGET tacit_command)
  add_custom_target(mutants ALL DEPENDS tacit_command tacit_end_to_end)
  foreach(name noise_halved noise_forgotten noise_reused noise_in_floating_point) # tests/audit/test_faulty_commands.py
    tacit_mutant(${name})
  endforeach()
  tacit_mutant(journal_in_the_clear) # tests/serve/test_postgres.py
endif()
if(TARGET tacit_command AND TACIT_MUTANTS AND NOT TACIT_SANITIZE) # verdicts are what is tested, and they are the same there
  foreach(name words_shared one_sided odd_negates_even neighbours_share rounds_negate tails_cut key_fixed laplace_in_l2
          agent_forgets_rounds distances_half sets_not_enforced sets_counted_once last_noise_halved last_noise_forgotten
          last_bounds_ignored last_bounds_clamped last_bounds_near last_entries_share sources_shared)
    tacit_mutant(${name})
  endforeach()
  tacit_mutant(first_round_silent WRAP tc_random_open_round)
  tacit_mutant(sensitivities_a_tenth_low SOURCES blocks_low states_low DEFINE FACTOR=0.9)
  tacit_mutant(sensitivities_a_third_low SOURCES blocks_low states_low DEFINE FACTOR=0.7)
  tacit_mutant(a_row_a_thousandth SOURCES blocks_low DEFINE FACTOR=0.001 ROW=3)
  tacit_mutant(minus_row_a_thousandth SOURCES blocks_low DEFINE FACTOR=0.001 ROW=1)
  tacit_mutant(equalities_half SOURCES blocks_low DEFINE FACTOR=0.5 EQUALITIES)
  tacit_mutant(radius_forgets_rises)
  tacit_mutant(radius_of_private_data)
  foreach(name step_carries_a_bit memory_keeps_a_state mac_without_key)
    tacit_mutant(${name} END_TO_END)
  endforeach()
  tacit_mutant(log_tells_of_clamping END_TO_END WRAP tc_cloud_half_take)
  tacit_mutant(page_counts_clamping END_TO_END WRAP tc_cloud_half_take tc_metrics_text)
  tacit_mutant(others_told_of_clamping END_TO_END WRAP tc_cloud_half_take tc_answer_encode)
  tacit_mutant_of_test(solver/test_project negative_multipliers_free)
  tacit_mutant_of_test(engine/test_proximal_kinks kinks_stop_early)
  foreach(name last_round_unpaid bounds_half) # of --feasible always
    tacit_mutant_of_test(plan/test_last ${name})
    tacit_mutant(${name})
  endforeach()
  foreach(name bounds_cost_nothing bounds_not_entered)
    tacit_mutant_of_test(promise/test_last_rounds ${name})
  endforeach()
  tacit_mutant_of_test(engine/test_last move_too_short)
  foreach(name simplex_half factors_maximum slopes_maximum bounds_without_coefficients set_or_wish curvature_of_diagonal
          divisors_forgotten box_of_the_first)
    tacit_mutant_of_test(engine/test_data_worlds ${name})
  endforeach()
  foreach(name one_datum_counts steps_exact reach_off_lattice)
    tacit_mutant_of_test(plan/test_distances ${name})
  endforeach()
  tacit_mutant_of_test(plan/test_forms rounding_forgotten)
  tacit_mutant_of_test(model/test_ranges data_below_ranges)
  tacit_mutant_of_test(release/test_release integers_pass)
  tacit_mutant_of_test(release/test_public_set rows_not_kept)
  tacit_mutant_of_test(release/test_ahead ahead_in_pairs)
  foreach(name rows_unrounded wide_boxes_wider groups_share outer_pieces_share)
    tacit_mutant_of_test(release/test_release_parts ${name})
  endforeach()
  tacit_mutant_of_test(serve/test_key memory_in_the_clear)
  tacit_mutant(average_of_some_rounds WRAP tc_agent_lacks_rounds)
  tacit_script_test(audit/mutants ${tests}/audit/mutants.py)
  set_tests_properties(audit/mutants PROPERTIES COST 1000) # the longest
endif()

if(TARGET tacit_command)
  # Fails the n-th allocation of the commands, for every n.
  add_executable(failing_allocator tests/torture/failing_allocator.c)
  tacit_compile(failing_allocator)
  target_compile_definitions(failing_allocator PRIVATE TACIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_include_directories(failing_allocator PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(failing_allocator PRIVATE tc_cli)
  target_link_options(failing_allocator PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
  target_link_options(failing_allocator PRIVATE -Wl,--wrap=tc_arena_alloc,--wrap=tc_arena_room)
  tacit_test(torture/failing_allocator ${tests}/torture/failing_allocator.c failing_allocator)

  # An outside program would need the sanitizer too.
  if(NOT TACIT_SANITIZE)
    tacit_script_test(install/outside_program ${tests}/install/run ${CMAKE_COMMAND} ${CMAKE_C_COMPILER})
  endif()
endif()

# Skipped, and named so, where there is no PostgreSQL: tests/serve/cluster.py.
set_tests_properties(serve/test_postgres serve/test_standby serve/test_last_standby PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(serve/test_postgres PROPERTIES COST 50) # waits for most of its time

# Allocations that fail.
target_link_options(model_test_given PRIVATE -Wl,--wrap=tc_arena_alloc,--wrap=tc_arena_room)

# Which thread draws.
set(draws -Wl,--wrap=tc_random_bulk,--wrap=tc_random_refine,--wrap=tc_ratchet)
target_link_options(release_test_ahead PRIVATE ${draws} -Wl,--wrap=tc_secret_sized)

# Calls of the system and of OpenSSL that fail, by tests/noise/failing.h.
set(failing getrandom)
foreach(name CIPHER_CTX_new EncryptInit_ex EncryptUpdate KDF_fetch KDF_derive MAC_fetch MAC_CTX_set_params MAC_init
             MAC_update MAC_final)
  list(APPEND failing EVP_${name})
endforeach()
list(TRANSFORM failing PREPEND "-Wl,--wrap=")
target_link_options(noise_test_failing PRIVATE ${failing})
target_link_options(release_test_failing PRIVATE ${failing})
target_link_options(engine_test_failing PRIVATE ${failing})

# Prints what goes between the parts of an engine, for tests/engine/test_method_*.py.
add_executable(engine_method_dump tests/engine/method_dump.c)
tacit_compile(engine_method_dump)
target_link_libraries(engine_method_dump PRIVATE tc_engine)
target_link_options(
  engine_method_dump PRIVATE
  -Wl,--wrap=tc_estimator_take_whole,--wrap=tc_estimator_take_forms,--wrap=tc_estimator_answer_whole
  -Wl,--wrap=tc_controller_gains,--wrap=tc_controller_decide)

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
  target_include_directories(tacit_watched PRIVATE ${tests})
  target_link_libraries(tacit_watched PRIVATE tc_cli)
  target_link_options(tacit_watched PRIVATE ${draws})
  add_executable(tacit_planted_delay src/cli/main.c tests/serve/planted_delay.c)
  tacit_compile(tacit_planted_delay)
  target_link_libraries(tacit_planted_delay PRIVATE tc_cli)
  target_link_options(tacit_planted_delay PRIVATE -Wl,--wrap=tc_states_from_integers,--wrap=tc_engine_round)
endif()

# Clouds with several loops.
if(TARGET tacit_command)
  foreach(name disk floods gateway hostile kill late lost_answers protocol restore rivals same_bits serve signals)
    tacit_script_test(serve/test_${name}_on_three_loops ${tests}/serve/test_${name}.py)
    set_property(TEST serve/test_${name}_on_three_loops APPEND PROPERTY ENVIRONMENT TACIT_SERVE_THREADS=3)
    set_property(TEST serve/test_${name}_on_three_loops APPEND PROPERTY LABELS long not-clang)
  endforeach()
endif()

# A ring of the system that fails.
if(liburing_FOUND)
  target_link_options(serve_test_sender PRIVATE -Wl,--wrap=io_uring_queue_init,--wrap=io_uring_submit)
endif()

# When a round is durable.
target_link_options(serve_test_loops PRIVATE -Wl,--wrap=tc_journal_commit_start,--wrap=tc_journal_commit_wait)

# What arrives just after an agent has looked.
target_link_options(net_test_agent_again PRIVATE -Wl,--wrap=recv,--wrap=poll)

# A peer that floods a cloud, for tests/serve/test_floods.py and script/soak.
add_executable(tacit_flood tests/serve/flood.c)
tacit_compile(tacit_flood)
target_include_directories(tacit_flood PRIVATE ${tests})
target_link_libraries(tacit_flood PRIVATE tc_net)

# Allocations that fail below the public functions.
foreach(name api_test_failing_api api_test_failing_api_long)
  target_link_options(${name} PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
  target_link_options(${name} PRIVATE -Wl,--wrap=tc_arena_alloc,--wrap=tc_arena_room)
endforeach()

# Runs that are spread over ranks, where there is MPI: tests/ranks.
if(TACIT_MPI AND TACIT_MUTANTS)
  add_executable(ranks_interface tests/ranks/interface.c src/base/ranks/mpi.c)
  tacit_compile(ranks_interface)
  target_link_libraries(ranks_interface PRIVATE tc_base PkgConfig::mpi)
  add_executable(ranks_told tests/ranks/told.c src/base/ranks/mpi.c)
  tacit_compile(ranks_told)
  target_compile_options(ranks_told PRIVATE -Wno-missing-prototypes)
  target_link_libraries(ranks_told PRIVATE tc_cli PkgConfig::mpi)
  target_link_options(ranks_told PRIVATE -Wl,--wrap=tc_ranks_watch,--wrap=tc_known_rows,--wrap=tc_slater_search)
  foreach(fault "sums_left_out tc_ranks_sum" "order_reversed tc_estimator_share_totals" "largest_here tc_largest_known"
          "parcel_here tc_carry" "widest_here tc_largest_of" "memory_out malloc,--wrap=calloc")
    separate_arguments(fault)
    list(GET fault 0 name)
    list(GET fault 1 function)
    add_executable(tacit_mpi_with_${name} src/cli/main.c src/base/ranks/mpi.c tests/ranks/faults/${name}.c)
    tacit_compile(tacit_mpi_with_${name})
    target_link_libraries(tacit_mpi_with_${name} PRIVATE tc_cli PkgConfig::mpi)
    target_link_options(tacit_mpi_with_${name} PRIVATE -Wl,--wrap=${function})
    set_target_properties(tacit_mpi_with_${name} PROPERTIES OUTPUT_NAME tacit-mpi_with_${name})
  endforeach()
  tacit_folder_tests(ranks)
  # Four ranks that meet all the time: beside other tests each meeting waits for a processor.
  set_tests_properties(ranks/test_told PROPERTIES RUN_SERIAL TRUE)
  # Ranks wait for their start: not at the end, when nothing else is left to do.
  set_tests_properties(ranks/test_runs ranks/test_refusals PROPERTIES COST 50)
endif()
