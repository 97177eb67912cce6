# Debian packages by CPack: `make deb`. A package is the install components of package.cmake.
# deb/finish.py adds what Debian wants in each: copyright, changelog, overrides, stripped files.

file(STRINGS ${CMAKE_SOURCE_DIR}/include/outpace/worker_c.h interface
     REGEX "^#define OUTPACE_C_VERSION ")
string(REGEX MATCH "[0-9]+" interface "${interface}")

# Python's package without its library, which is in liboutpace; not of `cmake --install`, which has a
# wheel in its place.
install(DIRECTORY ${CMAKE_BINARY_DIR}/python/outpace DESTINATION lib/python3/dist-packages
        COMPONENT python3-outpace EXCLUDE_FROM_ALL
        PATTERN "__pycache__" EXCLUDE PATTERN "liboutpace.so*" EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME outpace)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/deb/finish.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(OUTPACE_MAINTAINER "The authors of Outpace <maintainers@localhost.localdomain>" CACHE STRING
    "Maintainer of the Debian packages")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${OUTPACE_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(this_version "(= ${PROJECT_VERSION}-1)")

# debian_package(<component> <package> <section> <summary> <description> [<field> <value>]...)
macro(debian_package component package section summary description)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${description}")
  set(fields ${ARGN})
  while(fields)
    list(POP_FRONT fields field value)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${value}")
  endwhile()
endmacro()

set(what "Outpace trains neural networks with parameter servers and peers on\nmachines of unequal speed, and decides how long an update waits.")
debian_package(outpace outpace science "distributed training on machines of unequal speed"
  "${what}\nThis package has the program, its manual pages and completions."
  RECOMMENDS "outpace-torch ${this_version}" SUGGESTS "python3-outpace ${this_version}")
debian_package(liboutpace liboutpace${interface} libs "distributed training: shared library"
  "${what}\nThis package has the C interface of a worker.")
file(WRITE ${CMAKE_BINARY_DIR}/deb/shlibs
     "liboutpace ${interface} liboutpace${interface} (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_LIBOUTPACE_PACKAGE_CONTROL_EXTRA  # A list, which a field of the macro is not.
    ${CMAKE_SOURCE_DIR}/cmake/deb/triggers ${CMAKE_BINARY_DIR}/deb/shlibs)
set(dev libabsl-dev libfmt-dev libisal-dev libprotobuf-dev libspdlog-dev libssl-dev
        libtomlplusplus-dev libzstd-dev nlohmann-json3-dev pkg-config zlib1g-dev)
list(JOIN dev ", " dev)
debian_package(liboutpace-dev liboutpace-dev libdevel "distributed training: development files"
  "${what}\nThis package has the headers, archives and CMake package of a worker."
  DEPENDS "liboutpace${interface} ${this_version}, ${dev}" SUGGESTS "libtorch-dev")
debian_package(python3-outpace python3-outpace python "distributed training: Python package"
  "${what}\nThis package has the module outpace, for numpy and PyTorch."
  DEPENDS "python3 (>= 3.9), liboutpace${interface} ${this_version}"
  RECOMMENDS "outpace ${this_version}, python3-numpy" SUGGESTS "python3-torch")
set(CPACK_DEBIAN_PYTHON3-OUTPACE_PACKAGE_CONTROL_EXTRA
    ${CMAKE_SOURCE_DIR}/cmake/deb/postinst ${CMAKE_SOURCE_DIR}/cmake/deb/prerm)
if(OUTPACE_TORCH)
  debian_package(outpace-torch outpace-torch science "distributed training: networks of its own"
    "${what}\nThis package has what the program becomes where it needs libtorch."
    DEPENDS "outpace ${this_version}" RECOMMENDS "libopenblas0-pthread")
endif()
include(CPack)
