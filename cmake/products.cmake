# What is installed: libtacit (shared and static), libtacit-agent, the command, headers, man pages, pkg-config and CMake
# packages.

get_property(folders GLOBAL PROPERTY TACIT_FOLDERS)
# Everything but the servers: so no libevent and no SQLite.
list(FILTER folders EXCLUDE REGEX "^(worlds|cli|serve)")
list(TRANSFORM folders REPLACE "(.+)" "$<TARGET_OBJECTS:tc_\\1>" OUTPUT_VARIABLE objects)
add_library(tacit SHARED ${objects})
add_library(tacit_static STATIC ${objects})
# An agent as functions. The linker takes what it needs from the folders' archives: no language, no plan.
add_library(tacit_agent SHARED src/api/agent/agent.c src/api/agent/functions.c src/api/handle.c)
tacit_compile(tacit_agent)
target_link_libraries(tacit_agent PRIVATE tc_net)
target_link_options(tacit_agent PRIVATE -Wl,--no-undefined)
set_target_properties(tacit_agent PROPERTIES OUTPUT_NAME tacit-agent)
foreach(library tc_api tc_cli_shared tacit_agent)
  target_compile_definitions(${library} PRIVATE TACIT_VERSION="${PROJECT_VERSION}")
endforeach()

# Until 1.0 a minor version may be incompatible. cmake/*.symbols lists what each exports; tests/install/run checks it.
set_target_properties(tacit tacit_agent PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_target_properties(tacit_static PROPERTIES OUTPUT_NAME tacit)
foreach(library tacit tacit_static tacit_agent)
  set_target_properties(${library} PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_link_libraries(tacit PRIVATE ssl crypto m ${CMAKE_THREAD_LIBS_INIT})
target_link_libraries(tacit_static INTERFACE ssl crypto m ${CMAKE_THREAD_LIBS_INIT})

add_executable(tacit_command src/cli/main.c)
tacit_compile(tacit_command)
target_link_libraries(tacit_command PRIVATE tc_cli)
set_target_properties(tacit_command PROPERTIES OUTPUT_NAME tacit)

# The same command whose runs may be spread over ranks, where there is MPI: docs/scale.md.
if(TACIT_MPI)
  add_executable(tacit_mpi src/cli/main.c src/base/ranks/mpi.c)
  tacit_compile(tacit_mpi)
  target_link_libraries(tacit_mpi PRIVATE tc_cli PkgConfig::mpi)
  set_target_properties(tacit_mpi PROPERTIES OUTPUT_NAME tacit-mpi)
  install(TARGETS tacit_mpi)
  file(WRITE ${PROJECT_BINARY_DIR}/man/man1/tacit-mpi.1 ".so man1/tacit.1\n")
endif()

# The commands of a cloud and of agents alone, without what is for studies: tests/cli/test_node.py. Not installed.
add_executable(tacit_node src/cli/network/main.c)
tacit_compile(tacit_node)
target_link_libraries(tacit_node PRIVATE tc_cli_network)
set_target_properties(tacit_node PROPERTIES OUTPUT_NAME tacit-node)

# What `tacit audit --end-to-end` starts: the command with its noise coupled. The coupling is in no other product.
function(tacit_end_to_end target name)
  add_executable(${target} src/worlds/main.c ${ARGN})
  tacit_compile(${target})
  target_link_libraries(${target} PRIVATE tc_worlds)
  target_link_options(${target} PRIVATE -Wl,--wrap=tc_release_add_noise)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
endfunction()
tacit_end_to_end(tacit_end_to_end tacit-end-to-end)
add_dependencies(tacit_command tacit_end_to_end) # one is not built without the other

# The command writes its own man pages, from the tables that its parser and --help use.
set(man_stamp ${PROJECT_BINARY_DIR}/man/stamp)
add_custom_command(
  OUTPUT ${man_stamp}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man/man1
  COMMAND tacit_command help --write-man ${PROJECT_BINARY_DIR}/man/man1
  COMMAND ${CMAKE_COMMAND} -E touch ${man_stamp}
  DEPENDS tacit_command
  VERBATIM)
add_custom_target(man ALL DEPENDS ${man_stamp})

install(TARGETS tacit tacit_static tacit_agent EXPORT tacit)
install(TARGETS tacit_command)
install(TARGETS tacit_end_to_end DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tacit)
install(DIRECTORY include/tacit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tacit)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tacit-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT tacit NAMESPACE tacit:: FILE tacit-config.cmake DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/tacit-config-version.cmake DESTINATION ${package_dir})

# Relative to the .pc file, so that an installed tree may be moved.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(package tacit tacit-agent)
  configure_file(cmake/${package}.pc.in ${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# For machines with systemd: docs/operations.md.
foreach(unit tacit-serve@.service tacit-agent@.service)
  configure_file(dist/${unit}.in dist/${unit} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/dist/${unit} DESTINATION lib/systemd/system)
endforeach()
install(FILES dist/tacit.sysusers DESTINATION lib/sysusers.d RENAME tacit.conf)
install(FILES dist/serve.env dist/agent.env DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY dist/prometheus dist/grafana DESTINATION ${CMAKE_INSTALL_DOCDIR}/dist) # for monitors

# Pages and what they speak of, as they lie here: links between them hold (tests/install/links.py).
install(FILES README.md ARCHITECTURE.md CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE SECURITY.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES tests/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN __pycache__ EXCLUDE)
