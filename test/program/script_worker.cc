// A user's program for `outpace run`: by include/outpace alone it is a worker, or the evaluator, of
// a job that fits a line. Options make it fail as programs do, and hand over an optimizer.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "outpace/evaluator.h"
#include "outpace/worker.h"

namespace {

constexpr std::uint64_t kExamples = 256;

struct Options {
  std::uint64_t fail_at = 0;    // Throws at this mini-batch, from 1 on; 0: never.
  std::string fail_once;        // A file: the process that makes it fails, later ones do not.
  std::uint32_t exit_code = 1;  // On a failure.
  std::string hold;             // Takes no mini-batch before this file is there.
  // Worker 1 fails with its first mini-batch, and when it is started again it does not join before
  // this file is there.
  std::string late;
  double momentum = -1.0;  // Brings momentum SGD of two groups; below 0: no optimizer.
  double rate = 0.1;
  bool schedule = false;  // Halves the rate each epoch.
  bool differ = false;    // The schedule differs from rank to rank.
  std::uint64_t epochs = 0;
  bool evaluate = false;
  std::string linger;       // After the run it goes on until this file is there.
  bool fail_after = false;  // Throws after the run.
  std::uint32_t child = 0;  // Leaves a child behind that sleeps for this many seconds.
};

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("Fits a line as a part of an Outpace job");
  app.add_option("--fail-at", options.fail_at);
  app.add_option("--fail-once", options.fail_once);
  app.add_option("--exit-code", options.exit_code);
  app.add_option("--hold", options.hold);
  app.add_option("--late", options.late);
  app.add_option("--momentum", options.momentum);
  app.add_option("--rate", options.rate);
  app.add_flag("--schedule", options.schedule);
  app.add_flag("--differ", options.differ);
  app.add_option("--epochs", options.epochs);
  app.add_flag("--evaluate", options.evaluate);
  app.add_option("--linger", options.linger);
  app.add_flag("--fail-after", options.fail_after);
  app.add_option("--child", options.child);
  app.parse(argc, argv);
  return options;
}

std::vector<outpace::Parameter> parameters(const Options& options) {
  const std::uint32_t other = options.momentum < 0.0 ? 0 : 1;
  return {{.name = "slope", .shape = {1}, .group = 0},
          {.name = "offset", .shape = {1}, .group = other}};
}

outpace::ScriptSettings settings(const Options& options) {
  outpace::ScriptSettings settings{
      .groups = {}, .epochs = options.epochs, .evaluator = options.evaluate};
  if (options.momentum >= 0.0) {
    settings.groups = {
        {.method = outpace::Method::kMomentum, .rate = options.rate, .momentum = options.momentum},
        {.method = outpace::Method::kSgd, .rate = options.rate / 2}};
  }
  return settings;
}

double error_at(std::span<const float> weights, std::uint64_t example) {
  const double x = 2.0 * static_cast<double>(example) / kExamples - 1.0;
  return weights[0] * x + weights[1] - (3.0 * x + 1.0);
}

double loss_of(std::span<const float> weights) {
  double sum = 0.0;
  for (std::uint64_t example = 0; example < kExamples; ++example) {
    const double error = error_at(weights, example);
    sum += 0.5 * error * error / kExamples;
  }
  return sum;
}

void fail_if_asked(const Options& options, std::uint64_t minibatch) {
  if (options.fail_at == 0 || minibatch != options.fail_at) {
    return;
  }
  if (!options.fail_once.empty()) {
    std::FILE* const made = std::fopen(options.fail_once.c_str(), "wx");  // By one process alone.
    if (made == nullptr) {
      return;
    }
    std::fclose(made);
  }
  std::fprintf(stderr,
               "Traceback (most recent call last):\n"
               "  at the %llu. mini-batch of process %d\n",
               static_cast<unsigned long long>(minibatch),
               static_cast<int>(getpid()));
  throw std::runtime_error("no more memory");
}

// Nothing to wait for if it has no name.
void wait_for(const std::string& file) {
  constexpr useconds_t kLook = 5000;
  while (!file.empty() && !std::filesystem::exists(file)) {
    usleep(kLook);
  }
}

// Whether this is the first start of worker 1. A later one waits.
bool is_to_be_late(const Options& options, const char* rank) {
  if (options.late.empty() || std::atoi(rank) != 1) {
    return false;
  }
  const std::string begun = options.late + ".begun";
  if (std::filesystem::exists(begun)) {
    std::printf("waits\n");
    wait_for(options.late);
    return false;
  }
  std::ofstream(begun) << "begun\n";
  return true;
}

int work(const Options& options) {
  auto worker = outpace::Worker::from_environment();
  const char* rank = std::getenv("OUTPACE_WORKER");
  const bool fails = is_to_be_late(options, rank);
  worker.join(
      parameters(options),
      [] {
        return std::vector<float>{0, 0};
      },
      kExamples,
      settings(options));
  if (fails) {
    (void)worker.next();
    throw std::runtime_error("it is to be late");
  }
  wait_for(options.hold);
  std::uint64_t minibatches = 0;
  std::uint64_t accepted = 0;
  std::uint64_t epoch = 0;
  while (const auto minibatch = worker.next()) {
    fail_if_asked(options, ++minibatches);
    if (options.schedule && minibatch->epoch > epoch) {
      epoch = minibatch->epoch;
      const double own = options.differ ? 1.0 + std::atof(rank) : 1.0;
      const double rate = own * options.rate / static_cast<double>(1ULL << epoch);
      worker.set_rates(epoch, {rate, rate / 2});
    }
    std::vector<float> gradient(2);
    double loss = 0.0;
    const auto size = static_cast<double>(minibatch->examples.size());
    for (const std::uint64_t example : minibatch->examples) {
      const double error = error_at(minibatch->weights, example);
      const double x = 2.0 * static_cast<double>(example) / kExamples - 1.0;
      gradient[0] += static_cast<float>(error * x / size);
      gradient[1] += static_cast<float>(error / size);
      loss += 0.5 * error * error / size;
    }
    accepted += worker.push(gradient, loss).accepted() ? 1U : 0U;
  }
  std::printf("accepted %llu\n", static_cast<unsigned long long>(accepted));
  wait_for(options.linger);
  if (options.fail_after) {
    throw std::runtime_error("no space left");
  }
  std::printf("saved\n");
  return 0;
}

int evaluate(const Options& options) {
  auto evaluator = outpace::Evaluator::from_environment();
  evaluator.join(parameters(options));
  while (const auto snapshot = evaluator.next()) {
    const double loss = loss_of(snapshot->weights);
    evaluator.report(1.0 / (1.0 + loss), loss);
    std::printf("version %llu\n", static_cast<unsigned long long>(snapshot->version));
  }
  return 0;
}

void leave_child(std::uint32_t seconds) {
  if (seconds > 0 && fork() == 0) {
    signal(SIGTERM, SIG_IGN);
    sleep(seconds);
    _exit(0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    options = parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "script_worker: %s\n", error.what());
    return 2;
  }
  try {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::printf("begins\n");
    leave_child(options.child);
    return outpace::role_from_environment() == outpace::Role::kEvaluator ? evaluate(options)
                                                                         : work(options);
  } catch (const outpace::WorkerError& error) {
    std::fprintf(stderr, "script_worker: %s\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "RuntimeError: %s\n", error.what());
    return static_cast<int>(options.exit_code);
  }
}
