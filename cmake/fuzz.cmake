# A libFuzzer program for each fuzz/fuzz_*.c; script/test runs them for a bounded time.

file(GLOB fuzzers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/fuzz_*.c)
add_custom_target(fuzzers)
foreach(fuzzer IN LISTS fuzzers)
  get_filename_component(name ${fuzzer} NAME_WE)
  add_executable(${name} ${fuzzer})
  tacit_compile(${name})
  target_compile_options(${name} PRIVATE -Wno-missing-prototypes)
  target_link_libraries(${name} PRIVATE tc_serve tc_api tc_report tc_audit tc_promise)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
endforeach()
