// Tested by test/program/python_test.py (class Trains).

#include <optional>
#include <utility>

#include "c_interface/to_c.h"
#include "outpace/evaluator.h"
#include "outpace/worker_c.h"

// What the opaque handle points to.
// NOLINTNEXTLINE(readability-identifier-naming): C's name.
struct outpace_evaluator {
  explicit outpace_evaluator(outpace::Evaluator own) : evaluator(std::move(own)) {}

  outpace::Evaluator evaluator;
};

using outpace::c_interface::for_c;
using outpace::c_interface::require;

outpace_evaluator* outpace_evaluator_from_environment(outpace_error* error) {
  outpace_evaluator* evaluator = nullptr;
  for_c(error, [&] { evaluator = new outpace_evaluator(outpace::Evaluator::from_environment()); });
  return evaluator;
}

void outpace_evaluator_close(outpace_evaluator* evaluator) {
  delete evaluator;
}

int outpace_evaluator_join(outpace_evaluator* evaluator,
                           const outpace_job* job,
                           outpace_error* error) {
  return for_c(error, [&] {
    require(evaluator != nullptr && job != nullptr, "join: an argument is null");
    evaluator->evaluator.join(outpace::c_interface::to_parameters(*job));
  });
}

int outpace_evaluator_next(outpace_evaluator* evaluator,
                           outpace_snapshot* snapshot,
                           outpace_error* error) {
  return for_c(error, [&] {
    require(evaluator != nullptr && snapshot != nullptr, "next: an argument is null");
    *snapshot = {};
    if (const std::optional<outpace::Snapshot> found = evaluator->evaluator.next()) {
      *snapshot = {.weights = found->weights.data(),
                   .numbers = found->weights.size(),
                   .version = found->version};
    }
  });
}

const void* outpace_evaluator_constants(const outpace_evaluator* evaluator, size_t* size) {
  return outpace::c_interface::bytes_of(
      evaluator != nullptr ? evaluator->evaluator.constants() : std::string_view(), size);
}

outpace_memory* outpace_evaluator_memory(const outpace_evaluator* evaluator, outpace_error* error) {
  outpace_memory* memory = nullptr;
  for_c(error, [&] {
    require(evaluator != nullptr, "memory: the evaluator is null");
    memory = new outpace_memory{evaluator->evaluator.memory()};
  });
  return memory;
}

int outpace_evaluator_report(outpace_evaluator* evaluator,
                             double accuracy,
                             const double* loss,
                             outpace_error* error) {
  return for_c(error, [&] {
    require(evaluator != nullptr, "report: the evaluator is null");
    evaluator->evaluator.report(accuracy, loss != nullptr ? std::optional(*loss) : std::nullopt);
  });
}

int outpace_evaluator_report_measured(outpace_evaluator* evaluator,
                                      const outpace_measured* measured,
                                      outpace_error* error) {
  return for_c(error, [&] {
    require(evaluator != nullptr && measured != nullptr, "report: an argument is null");
    const auto optional = [](const double* value) {
      return value != nullptr ? std::optional(*value) : std::nullopt;
    };
    outpace::Measured found{
        .accuracy = optional(measured->accuracy), .loss = optional(measured->loss), .values = {}};
    for (std::size_t i = 0; i < measured->count; ++i) {
      require(measured->values[i].name != nullptr, "report: a value's name is null");
      found.values.emplace_back(measured->values[i].name, measured->values[i].value);
    }
    evaluator->evaluator.report(found);
  });
}
