# The generated code of .proto files, inside the modules that use it.
#
# A target of its own, because it is not held to our warnings and checks; its objects, not the
# target, go into the module, so that an installed package is none the wiser.
function(outpace_proto target module proto dir)
  get_filename_component(folder ${proto} DIRECTORY)
  get_filename_component(name ${proto} NAME_WE)
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(
    OUTPUT ${dir}/${name}.pb.cc ${dir}/${name}.pb.h
    COMMAND protobuf::protoc --cpp_out=${dir} --proto_path=${folder} ${proto}
    DEPENDS ${proto} protobuf::protoc VERBATIM)
  add_library(${target} OBJECT ${dir}/${name}.pb.cc)
  target_compile_options(${target} PRIVATE -w)
  target_link_libraries(${target} PRIVATE protobuf::libprotobuf)
  add_dependencies(${module} ${target})
  target_sources(${module} PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()
