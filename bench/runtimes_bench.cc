// How long a simulated worker's runtime takes to draw: 100,000 workers in turn, an iteration each.

#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "base/error.h"
#include "sim/runtimes.h"

namespace outpace::sim {
namespace {

constexpr std::uint32_t kWorkers = 100'000;

std::string no_files(const std::string& name) {
  throw usage_error(name + ": no such file");
}

void draw(benchmark::State& state, const std::string& text) {
  const auto runtimes =
      Runtimes::parse(text, {.workers = kWorkers, .seed = 1, .read_file = no_files});
  std::uint32_t worker = 0;
  std::uint64_t iteration = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        runtimes.at(WorkerId{worker}, iteration, Time{std::chrono::seconds(iteration)}));
    if (++worker == kWorkers) {
      worker = 0;
      ++iteration;
    }
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(draw, constant, "constant(100ms)");
BENCHMARK_CAPTURE(draw, normal, "normal(mean=100ms,cv=0.3)");
BENCHMARK_CAPTURE(draw, lognormal, "lognormal(mean=100ms,cv=0.3)");
BENCHMARK_CAPTURE(draw, exponential, "exponential(100ms)");
BENCHMARK_CAPTURE(draw, gamma, "gamma(mean=100ms,cv=0.3)");
BENCHMARK_CAPTURE(draw, pareto, "pareto(mean=100ms,shape=2.5,shift=80ms)");
BENCHMARK_CAPTURE(draw, mixture, "mixture(0.9*constant(100ms),0.1*exponential(1s))");
BENCHMARK_CAPTURE(draw,
                  markov_by_time,
                  "markov(fast=lognormal(mean=100ms,cv=0.1),slow=lognormal(mean=1s,cv=0.3),"
                  "fast_for=60s,slow_for=10s)");
BENCHMARK_CAPTURE(draw,
                  markov_by_iteration,
                  "markov(fast=lognormal(mean=100ms,cv=0.1),slow=lognormal(mean=1s,cv=0.3),"
                  "fast_for=600it,slow_for=100it)");
BENCHMARK_CAPTURE(draw,
                  machines,
                  "machines(size=8,cv=0.2,for=60s,of=lognormal(mean=100ms,cv=0.1))");
BENCHMARK_CAPTURE(draw,
                  two_classes,
                  "90000*lognormal(mean=100ms,cv=0.2),lognormal(mean=400ms,cv=0.2)");

}  // namespace
}  // namespace outpace::sim

BENCHMARK_MAIN();
