// Gigabytes of float32 a second that one core packs and unpacks in each format. A push packs with
// feedback, which reads and writes what is left beside the numbers. 1e6 numbers stay in a
// processor's cache, 25e6 (100 MB) do not.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/rng.h"
#include "compress/feedback.h"
#include "compress/pack.h"
#include "compress/reference.h"

namespace outpace::compress {
namespace {

constexpr std::size_t kInCache = 1'000'000;
constexpr std::size_t kBeyond = 25'000'000;

const std::vector<float>& gradient(std::size_t numbers) {
  static const std::vector<float> kAll = [] {
    std::vector<float> all(kBeyond);
    Rng rng(1, 0);
    for (float& number : all) {
      number = static_cast<float>(1e-3 * rng.normal());
    }
    return all;
  }();
  static std::vector<float> some;
  some.assign(kAll.begin(), kAll.begin() + static_cast<std::ptrdiff_t>(numbers));
  return some;
}

void count_bytes(benchmark::State& state, std::size_t numbers) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(4 * numbers));
}

void run_push(benchmark::State& state, const std::string& spec) {
  const auto numbers = static_cast<std::size_t>(state.range(0));
  const std::vector<float>& pushed = gradient(numbers);
  Feedback feedback(Compression::parse(spec), numbers);
  std::vector<std::byte> packed(packed_bytes(feedback.format(), numbers));
  for (auto one : state) {
    feedback.pack(0, pushed, packed);
    feedback.accepted();
    benchmark::DoNotOptimize(packed.data());
  }
  count_bytes(state, numbers);
}

void run_unpack(benchmark::State& state, const std::string& spec) {
  const auto numbers = static_cast<std::size_t>(state.range(0));
  const Format format = Compression::parse(spec).format;
  std::vector<std::byte> packed(packed_bytes(format, numbers));
  pack(format, gradient(numbers), packed);
  std::vector<float> unpacked(numbers);
  for (auto one : state) {
    unpack(format, packed, unpacked);
    benchmark::DoNotOptimize(unpacked.data());
  }
  count_bytes(state, numbers);
}

// A step moves every weight by a thousandth of its size or so.
void run_weights(benchmark::State& state, WeightsKind kind, bool packs) {
  const auto numbers = static_cast<std::size_t>(state.range(0));
  const std::vector<float>& first = gradient(numbers);
  std::vector<float> reference(numbers);
  static_cast<void>(pack_weights(kind, {}, first, reference));
  std::vector<float> next = first;
  for (std::size_t i = 0; i < numbers; ++i) {
    next[i] += 1e-3F * first[(i + 1) % numbers];
  }
  std::vector<float> now(numbers);
  std::vector<std::byte> packed = pack_weights(kind, reference, next, now);
  for (auto one : state) {
    if (packs) {
      pack_weights(kind, reference, next, now, packed);
    } else {
      unpack_weights(kind, packed, reference, now);
    }
    benchmark::DoNotOptimize(now.data());
  }
  count_bytes(state, numbers);
  state.counters["share"] = static_cast<double>(packed.size()) / static_cast<double>(4 * numbers);
}

void sizes(benchmark::internal::Benchmark* one) {
  one->Arg(kInCache)->Arg(kBeyond)->Unit(benchmark::kMillisecond);
}

void register_all() {
  for (const std::string spec : {"bf16", "fp16", "int8", "int4", "topk:share=0.01,bits=2"}) {
    const std::string joint = spec.find(':') == std::string::npos ? ":" : ",";
    for (const std::string& push : {spec, spec + joint + "feedback=0"}) {
      sizes(benchmark::RegisterBenchmark(
          ("push/" + push).c_str(), [push](benchmark::State& state) { run_push(state, push); }));
    }
    sizes(benchmark::RegisterBenchmark(
        ("unpack/" + spec).c_str(), [spec](benchmark::State& state) { run_unpack(state, spec); }));
  }
  for (const WeightsKind kind : {WeightsKind::kBf16, WeightsKind::kInt8, WeightsKind::kDelta}) {
    for (const bool packs : {true, false}) {
      const std::string title =
          (packs ? "pack_weights/" : "unpack_weights/") + std::string(name(kind));
      sizes(benchmark::RegisterBenchmark(title.c_str(), [kind, packs](benchmark::State& state) {
        run_weights(state, kind, packs);
      }));
    }
  }
}

}  // namespace
}  // namespace outpace::compress

int main(int count, char** arguments) {
  outpace::compress::register_all();
  benchmark::Initialize(&count, arguments);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
