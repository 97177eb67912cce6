# `cmake --install`: the program, the public headers, what find_package(Outpace) needs, and the wheel
# of python/outpace, in share/outpace. `make release` builds what it installs. Each file is of a
# component, which is a Debian package (cmake/deb.cmake), but for the wheel.
#
# A consumer links Outpace::worker or Outpace::torch; the libraries below those are installed
# because static libraries must be, and have no headers there: include/outpace is the interface.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Outpace)

# Appends to `out` every library of this project that `target` links, itself included.
function(libraries_below target out)
  set(found ${${out}})
  if(NOT target IN_LIST found)
    list(APPEND found ${target})
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(linked ${target} ${property})
      foreach(below IN LISTS linked)
        string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" below "${below}")
        if(TARGET ${below})
          get_target_property(imported ${below} IMPORTED)
          if(NOT imported)
            libraries_below(${below} found)
          endif()
        endif()
      endforeach()
    endforeach()
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

set(libraries "")
libraries_below(outpace_live libraries)
foreach(library IN LISTS libraries)
  get_target_property(folders ${library} INTERFACE_INCLUDE_DIRECTORIES)
  if(folders)
    set_target_properties(${library} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                          "$<BUILD_INTERFACE:${folders}>")
  endif()
endforeach()

# The names are Outpace::worker and Outpace::torch; outpace_worker is src/core/worker.
add_library(outpace_public_worker INTERFACE)
set_target_properties(outpace_public_worker PROPERTIES EXPORT_NAME worker)
target_include_directories(outpace_public_worker INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(outpace_public_worker INTERFACE cxx_std_20)
target_link_libraries(outpace_public_worker INTERFACE outpace_live)
install(TARGETS ${libraries} outpace_public_worker EXPORT OutpaceTargets COMPONENT liboutpace-dev)
install(EXPORT OutpaceTargets NAMESPACE Outpace:: DESTINATION ${package_dir}
        COMPONENT liboutpace-dev)

if(OUTPACE_TORCH)
  add_library(outpace_public_torch INTERFACE)
  set_target_properties(outpace_public_torch PROPERTIES EXPORT_NAME torch)
  target_link_libraries(outpace_public_torch INTERFACE outpace_public_worker torch)
  install(TARGETS outpace_public_torch EXPORT OutpaceTorchTargets COMPONENT liboutpace-dev)
  install(EXPORT OutpaceTorchTargets NAMESPACE Outpace:: DESTINATION ${package_dir}
          COMPONENT liboutpace-dev)
endif()

if(EXISTS ${CMAKE_SOURCE_DIR}/include/outpace)
  install(DIRECTORY include/outpace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          COMPONENT liboutpace-dev FILES_MATCHING PATTERN "*.h")
endif()
install(TARGETS outpace COMPONENT outpace)
install(TARGETS outpace_shared LIBRARY COMPONENT liboutpace NAMELINK_COMPONENT liboutpace-dev)
if(OUTPACE_TORCH)
  install(TARGETS outpace-torch COMPONENT outpace-torch)
endif()

# The program writes them from the options that it declares.
set(pages_dir ${CMAKE_BINARY_DIR}/pages)
set(pages man:man/man1 bash:bash-completion/completions zsh:zsh/site-functions
          fish:fish/vendor_completions.d)
foreach(page IN LISTS pages)
  string(REPLACE ":" ";" page ${page})
  list(GET page 0 kind)
  list(GET page 1 folder)
  install(CODE "
    file(REMOVE_RECURSE ${pages_dir}/${kind})
    execute_process(COMMAND $<TARGET_FILE:outpace> options --as ${kind} --to ${pages_dir}/${kind}
                    RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR \"the program wrote no pages: outpace options --as ${kind}\")
    endif()
  " COMPONENT outpace)
  install(DIRECTORY ${pages_dir}/${kind}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder}
          COMPONENT outpace)
endforeach()
install(FILES examples/systemd/outpace-server.service DESTINATION ${CMAKE_INSTALL_DATADIR}/outpace/systemd
        COMPONENT outpace)
install(DIRECTORY examples/grafana/ DESTINATION ${CMAKE_INSTALL_DATADIR}/outpace/grafana
        COMPONENT outpace)

# pip belongs to each user's own environment, so the wheel is installed as a file.
set(wheel_dir ${CMAKE_BINARY_DIR}/wheel)
install(CODE "
  file(REMOVE_RECURSE ${wheel_dir})
  execute_process(COMMAND ${OUTPACE_PYTHON} -B ${CMAKE_SOURCE_DIR}/tools/make_wheel.py
                          ${CMAKE_BINARY_DIR} ${wheel_dir}
                  OUTPUT_QUIET RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR \"no wheel was made; Debian's packages for it: tools/install-packages.sh python\")
  endif()" COMPONENT wheel)
install(DIRECTORY ${wheel_dir}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/outpace COMPONENT wheel
        FILES_MATCHING PATTERN "*.whl")

configure_package_config_file(cmake/OutpaceConfig.cmake.in OutpaceConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(OutpaceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/OutpaceConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/OutpaceConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT liboutpace-dev)
include(cmake/deb.cmake)

# Installs into an empty folder, and there builds and runs examples/own_network as a stranger would.
if(OUTPACE_TORCH AND EXISTS ${CMAKE_SOURCE_DIR}/examples/own_network/CMakeLists.txt)
  add_test(NAME installed_package
           COMMAND ${CMAKE_COMMAND} -D build=${CMAKE_BINARY_DIR} -D ccache=${OUTPACE_CCACHE}
                   -D example=${CMAKE_SOURCE_DIR}/examples/own_network
                   -D work=${CMAKE_BINARY_DIR}/installed_package
                   -P ${CMAKE_SOURCE_DIR}/cmake/installed_package_test.cmake)
  set_tests_properties(installed_package PROPERTIES TIMEOUT 600 COST 100 LABELS slow)
endif()
