# The Python package, in ${PROJECT_BINARY_DIR}/python: built where Python has cffi, setuptools and its headers, as those of
# Debian (python3-cffi, python3-setuptools, python3-dev) have. Elsewhere there is none, and nothing else needs it.

set(probe "import cffi, setuptools, sysconfig, pathlib, sys; sys.exit(not pathlib.Path(sysconfig.get_path('include'), 'Python.h').exists())")
execute_process(COMMAND ${TACIT_PYTHON} -c "${probe}" RESULT_VARIABLE no_python ERROR_QUIET OUTPUT_QUIET)
if(no_python)
  message(STATUS "tacit: no Python package: ${TACIT_PYTHON} lacks cffi, setuptools or its headers")
  return()
endif()

set(python_source ${PROJECT_SOURCE_DIR}/python)
set(python_place ${PROJECT_BINARY_DIR}/python)
file(GLOB_RECURSE python_sources CONFIGURE_DEPENDS ${python_source}/tacit/*.py ${python_source}/tacit/*.pyi
     ${python_source}/tacit/py.typed)
file(GLOB headers ${PROJECT_SOURCE_DIR}/include/tacit/*.h)
set(python_stamp ${PROJECT_BINARY_DIR}/python-build/stamp)
add_custom_command(
  OUTPUT ${python_stamp}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${python_place}/tacit
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/python-build
  COMMAND ${CMAKE_COMMAND} -E env TACIT_BUILD=${PROJECT_BINARY_DIR} CC=${CMAKE_C_COMPILER} ${TACIT_PYTHON} -W ignore setup.py
          -q egg_info --egg-base ${PROJECT_BINARY_DIR}/python-build build_py --build-lib ${python_place} build_ext
          --build-lib ${python_place} --build-temp ${PROJECT_BINARY_DIR}/python-build
  COMMAND ${CMAKE_COMMAND} -E touch ${python_stamp}
  WORKING_DIRECTORY ${python_source}
  DEPENDS tacit_static ${headers} ${python_sources} ${python_source}/setup.py ${python_source}/binding.py
          ${python_source}/shim.c ${python_source}/pyproject.toml
  VERBATIM)
add_custom_target(python ALL DEPENDS ${python_stamp})

# tests/python/test_*.py, by pytest. Under a sanitizer the interpreter needs its library first. Leaks are judged by the
# innermost frames: those of the interpreter and of other packages are not ours. use_tls=0: the search for pointers in the
# storage of threads that have ended crashes in gcc 12's library.
if(TACIT_TESTS)
  set(python_environment PYTHONPATH=${python_place} PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg TACIT=${PROJECT_BINARY_DIR}/tacit
      TACIT_SOURCE_DIR=${PROJECT_SOURCE_DIR} TACIT_BINARY_DIR=${PROJECT_BINARY_DIR})
  if(TACIT_SANITIZE MATCHES address)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE libasan
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND python_environment LD_PRELOAD=${libasan} PYTHONMALLOC=malloc ASAN_OPTIONS=malloc_context_size=4
         LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/python/leaks.supp:print_suppressions=0:use_tls=0)
  endif()
  file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/python/test_*.py)
  foreach(script IN LISTS scripts)
    get_filename_component(stem ${script} NAME_WE)
    tacit_test(python/${stem} ${script} ${TACIT_PYTHON} -m pytest -q -p no:cacheprovider --rootdir
               ${PROJECT_SOURCE_DIR}/tests/python ${script})
    set_tests_properties(python/${stem} PROPERTIES ENVIRONMENT "${python_environment}" WORKING_DIRECTORY
                                                   ${PROJECT_SOURCE_DIR})
  endforeach()
  set_tests_properties(python/test_package PROPERTIES COST 1000) # builds wheels, one after another
endif()
