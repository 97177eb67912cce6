// Tested by src/world/c_interface/worker_c_test.cc and, in C, by test/program/c_interface_test.py.

#include "outpace/worker_c.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "c_interface/to_c.h"
#include "compress/format.h"
#include "live/environment.h"
#include "live/worker_steps.h"
#include "outpace/worker.h"

// What the opaque handle points to.
// NOLINTNEXTLINE(readability-identifier-naming): C's name.
struct outpace_worker {
  outpace_worker(outpace::Worker own, std::uint32_t its_rank)
      : worker(std::move(own)), rank(its_rank) {}

  outpace::Worker worker;
  const std::uint32_t rank;
  std::size_t numbers = 0;                  // In a gradient.
  std::vector<std::uint64_t> examples;      // The current mini-batch's.
  std::vector<std::uint64_t> ahead;         // The next ones', one after another,
  std::vector<std::size_t> ahead_sizes;     // their sizes,
  std::vector<std::uint64_t> ahead_epochs;  // and their last examples' epochs.
  std::vector<std::size_t> step_sizes;      // The local steps' examples,
  std::vector<std::uint64_t> step_epochs;   // and their epochs.
  outpace::Worker::Evaluated evaluated;     // What was asked for last,
  std::vector<outpace_value> values;        // and its values.
};

namespace outpace::c_interface {
namespace {

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

ScriptSettings to_settings(const outpace_job& job) {
  require(job.groups != nullptr || job.group_count == 0, "join: the groups are null");
  ScriptSettings settings{.groups = {},
                          .epochs = job.epochs,
                          .ahead = job.ahead,
                          .local_steps = job.local_steps,
                          .compress = text_or_empty(job.compress)};
  if (job.constants != nullptr) {
    settings.constants = [find = job.constants, context = job.context] {
      const void* bytes = nullptr;
      std::size_t size = 0;
      require(find(&bytes, &size, context) == 0, "join: the script failed to supply constants");
      require(bytes != nullptr || size == 0, "join: the constants are null");
      return std::string(static_cast<const char*>(bytes), size);
    };
  }
  if (job.state != nullptr) {
    settings.state = [find = job.state, context = job.context] {
      const outpace_optimizer_state* parts = nullptr;
      std::size_t count = 0;
      require(find(&parts, &count, context) == 0, "join: the script failed to supply its state");
      require(parts != nullptr || count == 0, "join: the parts of the state are null");
      std::vector<OptimizerState> state;
      for (const outpace_optimizer_state& part : std::span(parts, count)) {
        require(part.numbers != nullptr || part.count == 0, "join: numbers of the state are null");
        state.push_back({.tensor = part.tensor,
                         .part = text_or_empty(part.part),
                         .updates = part.updates,
                         .numbers = {part.numbers, part.numbers + part.count}});
      }
      return state;
    };
  }
  for (const outpace_group& given : std::span(job.groups, job.group_count)) {
    require(given.method >= OUTPACE_SGD && given.method <= OUTPACE_NEWEST,
            "join: there is no method " + std::to_string(given.method));
    settings.groups.push_back({.method = static_cast<Method>(given.method),
                               .rate = given.rate,
                               .weight_decay = given.weight_decay,
                               .momentum = given.momentum,
                               .beta1 = given.beta1,
                               .beta2 = given.beta2,
                               .epsilon = given.epsilon,
                               .rate_decay = given.rate_decay,
                               .initial = given.initial});
  }
  return settings;
}

void join(outpace_worker& worker, const outpace_job& job) {
  require(job.initial_weights != nullptr, "join: the initial weights are null");
  const std::vector<Parameter> parameters = to_parameters(job);
  const std::size_t numbers = numbers_of(parameters);
  const auto initial_weights = [fill = job.initial_weights, context = job.context, numbers] {
    std::vector<float> weights(numbers);
    require(fill(weights.data(), weights.size(), context) == 0,
            "join: the script failed to supply initial weights");
    return weights;
  };
  worker.worker.join(parameters, initial_weights, job.examples, to_settings(job));
  worker.numbers = numbers;
}

void next(outpace_worker& worker, outpace_minibatch& out) {
  out = {};
  worker.examples.clear();
  worker.ahead.clear();
  worker.ahead_sizes.clear();
  worker.ahead_epochs.clear();
  worker.step_sizes.clear();
  worker.step_epochs.clear();
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
  for (const std::vector<std::uint64_t>& later : minibatch->ahead) {
    worker.ahead.insert(worker.ahead.end(), later.begin(), later.end());
    worker.ahead_sizes.push_back(later.size());
  }
  out.ahead = worker.ahead.data();
  out.ahead_sizes = worker.ahead_sizes.data();
  out.ahead_count = worker.ahead_sizes.size();
  worker.ahead_epochs = std::move(minibatch->ahead_epochs);
  out.ahead_epochs = worker.ahead_epochs.data();
  for (const LocalStep& step : minibatch->steps) {
    worker.step_sizes.push_back(step.examples);
    worker.step_epochs.push_back(step.epoch);
  }
  out.step_sizes = worker.step_sizes.data();
  out.step_epochs = worker.step_epochs.data();
  out.step_count = worker.step_sizes.size();
}

void write(const PushResult& result, outpace_verdict& out) {
  out.outcome = static_cast<int>(result.outcome);
  copy_text(result.why, out.why);
}

}  // namespace
}  // namespace outpace::c_interface

using outpace::c_interface::for_c;
using outpace::c_interface::require;
using outpace::compress::Compression;
using outpace::live::WorkerSteps;

int outpace_role(outpace_error* error) {
  int role = -1;
  for_c(error, [&] { role = static_cast<int>(outpace::role_from_environment()); });
  return role;
}

int outpace_check_compress(const char* spec, outpace_error* error) {
  return for_c(error, [&] {
    static_cast<void>(Compression::parse(outpace::c_interface::text_or_empty(spec)));
  });
}

int outpace_c_version(void) {
  return OUTPACE_C_VERSION;
}

outpace_worker* outpace_worker_from_environment(outpace_error* error) {
  outpace_worker* worker = nullptr;
  for_c(error, [&] {
    // By worker.h's function, which also knows how `outpace run --delays` and --slow slow it down.
    worker = new outpace_worker(outpace::Worker::from_environment(),
                                outpace::live::options_from_environment(/*ranked=*/true).worker);
  });
  return worker;
}

outpace_worker* outpace_worker_open(const outpace_worker_options* options, outpace_error* error) {
  outpace_worker* worker = nullptr;
  for_c(error, [&] {
    require(options != nullptr, "open: the options are null");
    const outpace::WorkerOptions own = outpace::c_interface::to_options(*options);
    worker = new outpace_worker(outpace::Worker(own), own.worker);
  });
  return worker;
}

void outpace_worker_close(outpace_worker* worker) {
  delete worker;
}

int outpace_worker_join(outpace_worker* worker, const outpace_job* job, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && job != nullptr, "join: an argument is null");
    outpace::c_interface::join(*worker, *job);
  });
}

std::uint32_t outpace_worker_rank(const outpace_worker* worker) {
  return worker == nullptr ? 0 : worker->rank;
}

int outpace_worker_next(outpace_worker* worker,
                        outpace_minibatch* minibatch,
                        outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && minibatch != nullptr, "next: an argument is null");
    outpace::c_interface::next(*worker, *minibatch);
  });
}

const void* outpace_worker_constants(const outpace_worker* worker, size_t* size) {
  return outpace::c_interface::bytes_of(
      worker != nullptr ? worker->worker.constants() : std::string_view(), size);
}

int outpace_worker_cancelled(const outpace_worker* worker) {
  if (worker == nullptr || !worker->worker.cancelled()) {
    return 0;
  }
  return worker->worker.wants_part() ? 2 : 1;
}

int outpace_worker_stepped(outpace_worker* worker, std::size_t examples, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "stepped: the worker is null");
    worker->worker.stepped(examples);
  });
}

int outpace_worker_push_steps(outpace_worker* worker,
                              const double* loss,
                              outpace_verdict* verdict,
                              outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && verdict != nullptr, "push_steps: an argument is null");
    const std::span<const float> difference = worker->worker.gradient();
    const outpace::PushResult result = worker->worker.push(
        difference, loss == nullptr ? std::nullopt : std::optional<double>(*loss));
    outpace::c_interface::write(result, *verdict);
  });
}

float* outpace_worker_gradient(outpace_worker* worker, outpace_error* error) {
  float* gradient = nullptr;
  for_c(error, [&] {
    require(worker != nullptr, "gradient: the worker is null");
    gradient = worker->worker.gradient().data();
  });
  return gradient;
}

outpace_memory* outpace_worker_memory(const outpace_worker* worker, outpace_error* error) {
  outpace_memory* memory = nullptr;
  for_c(error, [&] {
    require(worker != nullptr, "memory: the worker is null");
    memory = new outpace_memory{WorkerSteps::memory(worker->worker)};
  });
  return memory;
}

void outpace_memory_release(outpace_memory* memory) {
  delete memory;
}

// NOLINTNEXTLINE(readability-function-size): C has no default arguments.
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
    outpace::c_interface::write(result, *verdict);
  });
}

int outpace_worker_start_push(outpace_worker* worker, double loss, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "start_push: the worker is null");
    WorkerSteps::start_push(worker->worker, loss);
  });
}

int outpace_worker_start_push_steps(outpace_worker* worker,
                                    const double* loss,
                                    outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "start_push_steps: the worker is null");
    WorkerSteps::start_push(worker->worker,
                            loss == nullptr ? std::nullopt : std::optional<double>(*loss));
  });
}

int outpace_worker_await(outpace_worker* worker,
                         double seconds,
                         outpace_verdict* verdict,
                         outpace_minibatch* minibatch,
                         outpace_error* error) {
  using News = WorkerSteps::News;
  News news = News::kReady;
  const int code = for_c(error, [&] {
    require(worker != nullptr && verdict != nullptr && minibatch != nullptr,
            "await: an argument is null");
    require(seconds >= 0.0 && seconds <= 1e9, "await: a time must be between 0 and 1e9 seconds");
    news = WorkerSteps::await_news(worker->worker,
                                   std::chrono::duration_cast<std::chrono::nanoseconds>(
                                       std::chrono::duration<double>(seconds)));
    if (news == News::kNone) {
      return;
    }
    outpace::c_interface::write(WorkerSteps::finish_push(worker->worker), *verdict);
    if (news == News::kReady) {
      outpace::c_interface::next(*worker, *minibatch);
    }
  });
  if (code != OUTPACE_OK || news == News::kReady) {
    return code;
  }
  return news == News::kNone ? OUTPACE_WAITS : OUTPACE_LOST;
}

int outpace_worker_slowed(const outpace_worker* worker) {
  return worker != nullptr && WorkerSteps::slowed(worker->worker) ? 1 : 0;
}

int outpace_worker_abandon(outpace_worker* worker, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "abandon: the worker is null");
    worker->worker.abandon();
  });
}

int outpace_worker_abandon_failed(outpace_worker* worker, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "abandon_failed: the worker is null");
    worker->worker.abandon(outpace::Worker::GiveUp::kFailed);
  });
}

int outpace_worker_leave_out(outpace_worker* worker, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "leave_out: the worker is null");
    worker->worker.abandon(outpace::Worker::GiveUp::kLeaveOut);
  });
}

int outpace_worker_without(outpace_worker* worker,
                           const std::uint32_t* tensors,
                           std::size_t count,
                           outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && (tensors != nullptr || count == 0),
            "without: an argument is null");
    worker->worker.without(std::vector<std::uint32_t>(tensors, tensors + count));
  });
}

int outpace_worker_set_rates(outpace_worker* worker,
                             std::uint64_t epoch,
                             const double* rates,
                             std::size_t count,
                             outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && (rates != nullptr || count == 0),
            "set_rates: an argument is null");
    worker->worker.set_rates(epoch, std::vector<double>(rates, rates + count));
  });
}

int outpace_worker_ask_for_evaluator(outpace_worker* worker, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "ask_for_evaluator: the worker is null");
    worker->worker.ask_for_evaluator();
  });
}

int outpace_worker_evaluated(outpace_worker* worker,
                             std::uint64_t epoch,
                             outpace_evaluated* evaluated,
                             outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && evaluated != nullptr, "evaluated: an argument is null");
    *evaluated = {};
    worker->evaluated = worker->worker.evaluated(epoch);
    const outpace::Worker::Evaluated& told = worker->evaluated;
    evaluated->comes = told.comes ? 1 : 0;
    if (!told.found) {
      return;
    }
    evaluated->found = 1;
    evaluated->version = told.version;
    worker->values.clear();
    for (const auto& [name, value] : told.found->values) {
      worker->values.push_back({.name = name.c_str(), .value = value});
    }
    evaluated->measured = {
        .accuracy = told.found->accuracy ? &*told.found->accuracy : nullptr,
        .loss = told.found->loss ? &*told.found->loss : nullptr,
        .values = worker->values.data(),
        .count = worker->values.size(),
    };
  });
}

int outpace_worker_end_run(const outpace_worker* worker, const char* why, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr && why != nullptr, "end_run: an argument is null");
    worker->worker.end_run(why);
  });
}

void outpace_worker_mark(outpace_worker* worker, std::size_t numbers, double seconds_ago) {
  if (worker != nullptr) {
    worker->worker.mark(numbers, seconds_ago);
  }
}

void outpace_worker_stop_waiting(outpace_worker* worker) {
  if (worker != nullptr) {
    worker->worker.stop_waiting();
  }
}

int outpace_worker_leave(outpace_worker* worker, outpace_error* error) {
  return for_c(error, [&] {
    require(worker != nullptr, "leave: the worker is null");
    worker->worker.leave();
  });
}
