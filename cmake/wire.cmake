# The generated code of src/core/protocol/outpace.proto, inside outpace_protocol.
#
# A target of its own, because it is not held to our warnings and checks; its objects, not the
# target, go into outpace_protocol, so that an installed package is none the wiser.

set(wire_dir ${CMAKE_BINARY_DIR}/wire)
set(wire_proto ${CMAKE_SOURCE_DIR}/src/core/protocol/outpace.proto)
file(MAKE_DIRECTORY ${wire_dir})
add_custom_command(
  OUTPUT ${wire_dir}/outpace.pb.cc ${wire_dir}/outpace.pb.h
  COMMAND protobuf::protoc --cpp_out=${wire_dir} --proto_path=${CMAKE_SOURCE_DIR}/src/core/protocol
          ${wire_proto}
  DEPENDS ${wire_proto} protobuf::protoc VERBATIM)

add_library(outpace_messages OBJECT ${wire_dir}/outpace.pb.cc)
target_compile_options(outpace_messages PRIVATE -w)
target_link_libraries(outpace_messages PRIVATE protobuf::libprotobuf)

add_dependencies(outpace_protocol outpace_messages)
target_sources(outpace_protocol PRIVATE $<TARGET_OBJECTS:outpace_messages>)
target_include_directories(outpace_protocol SYSTEM PUBLIC $<BUILD_INTERFACE:${wire_dir}>)
