// A worker whose gradients are a ledger: example e adds one to number e, in whole numbers that
// float32 holds exactly, so that the final weights say how often each example was applied.
//
// The real session, loop, pace and transport around it; no libtorch. Prints a line for each
// gradient computed: its tests wait for those, never for time.

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "live/leaving.h"
#include "live/supervisor.h"
#include "live/worker_loop.h"
#include "wire/tls_files.h"
#include "worker/ledger.h"

namespace outpace {
namespace {

struct Options {
  std::string server;
  std::string token_file;
  std::uint32_t worker = 0;
  std::uint64_t examples = 256;
  std::string batch_seconds = "0.004";  // What a full mini-batch takes.
  double connect_deadline = 60.0;       // Seconds, as the next.
  double rejoin_for = 20.0;
  std::uint64_t hang_at = 0;  // This gradient, from 1 on, or the next that gets so far,
  std::string hang_until;     // is not done before this file is there.
  std::uint64_t tensors = 1;  // Parts of the ledger,
  std::uint64_t slice = 0;    // which leave in slices of at least this many bytes.
};

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("A worker whose gradients count the uses of each example");
  app.add_option("--server", options.server)->required();
  app.add_option("--token-file", options.token_file)->required();
  app.add_option("--worker", options.worker)->required();
  app.add_option("--examples", options.examples);
  app.add_option("--batch-seconds", options.batch_seconds);
  app.add_option("--connect-deadline", options.connect_deadline);
  app.add_option("--rejoin-for", options.rejoin_for);
  app.add_option("--hang-at", options.hang_at);
  app.add_option("--hang-until", options.hang_until);
  app.add_option("--tensors", options.tensors);
  app.add_option("--slice", options.slice);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what());
  }
  return options;
}

// Says so for each gradient.
class Ledger final : public worker::GradientSource {
 public:
  explicit Ledger(const Options& options)
      : options_(options), counts_(options.examples, 0, options.tensors) {}

  [[nodiscard]] const protocol::Manifest& manifest() const override { return counts_.manifest(); }
  [[nodiscard]] std::uint64_t dataset_examples() const override {
    return counts_.dataset_examples();
  }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return counts_.initial_weights();
  }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& cancelled) override {
    ++computed_;
    hang_in_time();
    const auto loss = counts_.compute(weights, examples, gradient, cancelled);
    if (loss) {
      std::puts("gradient");
      std::fflush(stdout);
    }
    return loss;
  }

  // Hangs when half of its slices have left.
  [[nodiscard]] std::optional<double> compute_overlapped(std::span<const float> weights,
                                                         std::span<const std::uint64_t> examples,
                                                         std::span<float> gradient,
                                                         const Overlap& overlap) override {
    ++computed_;
    const auto loss = overlap.wait_for(weights.size()) == Weights::kGivenUp
                          ? std::nullopt
                          : counts_.compute(weights, examples, gradient, overlap.cancelled);
    for (std::uint64_t tensor = loss ? options_.tensors : 0; tensor-- > 0;) {
      if (tensor == options_.tensors / 2) {
        hang_in_time();
      }
      if (overlap.cancelled()) {
        std::puts("cancelled");
        std::fflush(stdout);
        return std::nullopt;
      }
      overlap.ready(tensor);
    }
    if (loss) {
      std::puts("gradient");
      std::fflush(stdout);
    }
    return loss;
  }

 private:
  // Once, as a computation that does not return; it does not even notice that it is cancelled. A
  // gradient that was cancelled earlier does not hang, so the next one does.
  void hang_in_time() {
    if (options_.hang_at == 0 || computed_ < options_.hang_at || hung_) {
      return;
    }
    hung_ = true;
    std::puts("hangs");
    std::fflush(stdout);
    while (!std::filesystem::exists(options_.hang_until)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  const Options& options_;
  worker::Ledger counts_;
  std::uint64_t computed_ = 0;
  bool hung_ = false;
};

int run(const Options& options) {
  live::block_supervised_signals();
  std::ifstream file(options.token_file);
  std::string token;
  std::getline(file, token);
  const auto trace = worker::DelayTrace::parse(options.batch_seconds, "--batch-seconds", 1);
  const worker::Pace pace(trace, WorkerId{0}, {});
  Ledger ledger(options);
  live::Leaving leaving;
  const live::Supervisor signals({},
                                 {.interrupted = [&leaving](int signal) { leaving.ask(signal); }});
  live::run_worker({.session = {.server = options.server,
                                .token = token,
                                .tls = wire::find_tls(
                                    {}, options.token_file, options.server, wire::TlsSide::kWorker),
                                .worker = WorkerId{options.worker},
                                .deadline = from_seconds(options.connect_deadline),
                                .leaving = &leaving,
                                .slice_bytes = options.slice},
                    .rejoin_for = from_seconds(options.rejoin_for)},
                   ledger,
                   pace);
  return leaving.asked() ? leaving.exit_code() : 0;
}

}  // namespace
}  // namespace outpace

int main(int argc, char** argv) {
  try {
    return outpace::run(outpace::parse(argc, argv));
  } catch (const outpace::Error& error) {
    std::fprintf(stderr, "ledger_worker: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ledger_worker: %s\n", error.what());
    return 1;
  }
}
