// Tested by src/c_interface/worker_c_test.cc and, in C, by test/program/c_interface_test.py.

#include "outpace/worker_c.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "outpace/worker.h"

// What the opaque handle points to.
struct outpace_worker {
  explicit outpace_worker(outpace::Worker own) : worker(std::move(own)) {}

  outpace::Worker worker;
  std::size_t numbers = 0;              // Of a gradient.
  std::vector<std::uint64_t> examples;  // Of the current mini-batch.
};

namespace outpace {
namespace {

template <std::size_t kSize>
void copy_text(const std::string& text,
               char (&out)[kSize]) {  // NOLINT(modernize-avoid-c-arrays): C.
  const std::size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

int fail(outpace_error* error, int code, const std::string& message) {
  if (error != nullptr) {
    error->code = code;
    copy_text(message, error->message);
  }
  return code;
}

// Runs what may throw; returns OUTPACE_OK or the error's code.
template <typename Function>
int for_c(outpace_error* error, Function function) noexcept {
  try {
    function();
    return OUTPACE_OK;
  } catch (const WorkerError& thrown) {
    return fail(error, thrown.exit_code(), thrown.what());
  } catch (const std::bad_alloc&) {
    return fail(error, OUTPACE_FAILURE, "out of memory");
  } catch (const std::exception& thrown) {
    return fail(error, OUTPACE_FAILURE, thrown.what());
  } catch (...) {
    return fail(error, OUTPACE_FAILURE, "an error that says nothing of itself");
  }
}

void require(bool holds, const std::string& message) {
  if (!holds) {
    throw WorkerError(OUTPACE_USAGE, message);
  }
}

std::string text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

std::chrono::nanoseconds seconds_or(double seconds, std::chrono::nanoseconds otherwise) {
  constexpr double kMost = 1e9;  // Some 30 years; nanoseconds in 64 bits hold ten times as much.
  require(seconds >= 0.0 && seconds <= kMost, "a time must be between 0 and 1e9 seconds");
  return seconds == 0.0 ? otherwise
                        : std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::duration<double>(seconds));
}

WorkerOptions to_options(const outpace_worker_options& given) {
  WorkerOptions options;
  options.server = text_or_empty(given.server);
  options.token = text_or_empty(given.token);
  options.worker = given.worker;
  options.deadline = seconds_or(given.deadline, options.deadline);
  options.rejoin_for = seconds_or(given.rejoin_for, options.rejoin_for);
  options.keep_alive = seconds_or(given.keep_alive, options.keep_alive);
  options.tls_certificate = text_or_empty(given.tls_certificate);
  options.tls_key = text_or_empty(given.tls_key);
  options.tls_ca = text_or_empty(given.tls_ca);
  options.insecure_no_tls = given.insecure_no_tls != 0;
  return options;
}

std::vector<Parameter> to_parameters(const outpace_job& job) {
  std::vector<Parameter> parameters;
  for (const outpace_parameter& given : std::span(job.parameters, job.count)) {
    require(given.shape != nullptr || given.dimensions == 0, "join: a shape is null");
    const std::span<const std::uint64_t> shape(given.shape, given.dimensions);
    parameters.push_back(
        {.name = text_or_empty(given.name), .shape = {shape.begin(), shape.end()}});
  }
  return parameters;
}

std::size_t numbers_of(const std::vector<Parameter>& parameters) {
  std::size_t numbers = 0;
  for (const Parameter& parameter : parameters) {
    std::size_t product = 1;
    for (const std::uint64_t extent : parameter.shape) {
      product *= extent;
    }
    numbers += product;
  }
  return numbers;
}

void join(outpace_worker& worker, const outpace_job& job) {
  require(job.parameters != nullptr && job.initial_weights != nullptr,
          "join: parameters or initial weights are null");
  const std::vector<Parameter> parameters = to_parameters(job);
  const std::size_t numbers = numbers_of(parameters);
  const auto initial_weights = [fill = job.initial_weights, context = job.context, numbers] {
    std::vector<float> weights(numbers);
    require(fill(weights.data(), weights.size(), context) == 0,
            "join: the script failed to supply initial weights");
    return weights;
  };
  worker.worker.join(parameters, initial_weights, job.examples);
  worker.numbers = numbers;
}

void next(outpace_worker& worker, outpace_minibatch& out) {
  out = {};
  worker.examples.clear();
  std::optional<MinibatchView> minibatch = worker.worker.next_view();
  if (!minibatch) {
    return;
  }
  worker.examples = std::move(minibatch->examples);
  out.weights = minibatch->weights.data();
  out.numbers = minibatch->weights.size();
  out.examples = worker.examples.data();
  out.count = worker.examples.size();
  out.version = minibatch->version;
  out.epoch = minibatch->epoch;
}

}  // namespace
}  // namespace outpace

using outpace::for_c;
using outpace::require;

int outpace_c_version(void) {
  return OUTPACE_C_VERSION;
}

outpace_worker* outpace_worker_from_environment(outpace_error* error) {
  outpace_worker* worker = nullptr;
  for_c(error, [&] { worker = new outpace_worker(outpace::Worker::from_environment()); });
  return worker;
}

outpace_worker* outpace_worker_open(const outpace_worker_options* options, outpace_error* error) {
  outpace_worker* worker = nullptr;
  for_c(error, [&] {
    require(options != nullptr, "open: the options are null");
    worker = new outpace_worker(outpace::Worker(outpace::to_options(*options)));
  });
  return worker;
}

void outpace_worker_close(outpace_worker* worker) {
  delete worker;
}

int outpace_worker_join(outpace_worker* worker, const outpace_job* job, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && job != nullptr, "join: an argument is null");
    outpace::join(*worker, *job);
  });
}

int outpace_worker_next(outpace_worker* worker,
                        outpace_minibatch* minibatch,
                        outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && minibatch != nullptr, "next: an argument is null");
    outpace::next(*worker, *minibatch);
  });
}

int outpace_worker_cancelled(const outpace_worker* worker) {
  return worker != nullptr && worker->worker.cancelled() ? 1 : 0;
}

float* outpace_worker_gradient(outpace_worker* worker, outpace_error* error) {
  float* gradient = nullptr;
  for_c(error, [&] {
    require(worker != nullptr, "gradient: the worker is null");
    gradient = worker->worker.gradient().data();
  });
  return gradient;
}

int outpace_worker_push(outpace_worker* worker,
                        const float* gradient,
                        double loss,
                        std::size_t part,
                        outpace_verdict* verdict,
                        outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && gradient != nullptr && verdict != nullptr,
            "push: an argument is null");
    const outpace::PushResult result =
        worker->worker.push(std::span(gradient, worker->numbers),
                            loss,
                            part == 0 ? std::nullopt : std::optional<std::size_t>(part));
    verdict->outcome = static_cast<int>(result.outcome);
    outpace::copy_text(result.why, verdict->why);
  });
}

int outpace_worker_abandon(outpace_worker* worker, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "abandon: the worker is null");
    worker->worker.abandon();
  });
}

int outpace_worker_leave(outpace_worker* worker, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "leave: the worker is null");
    worker->worker.leave();
  });
}
