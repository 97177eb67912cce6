// Tested by src/world/c_interface/worker_c_test.cc.

#include "c_interface/to_c.h"

#include <cstdint>
#include <span>

namespace outpace::c_interface {

std::vector<Parameter> to_parameters(const outpace_job& job) {
  require(job.parameters != nullptr || job.count == 0, "join: the parameters are null");
  std::vector<Parameter> parameters;
  for (const outpace_parameter& given : std::span(job.parameters, job.count)) {
    require(given.shape != nullptr || given.dimensions == 0, "join: a shape is null");
    const std::span<const std::uint64_t> shape(given.shape, given.dimensions);
    parameters.push_back({.name = text_or_empty(given.name),
                          .shape = {shape.begin(), shape.end()},
                          .group = given.group});
  }
  return parameters;
}

}  // namespace outpace::c_interface
