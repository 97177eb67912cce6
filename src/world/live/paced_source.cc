#include "live/paced_source.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <sys/prctl.h>

#include "base/check.h"
#include "base/rng.h"

namespace outpace::live {
namespace {

using std::chrono::steady_clock;

// So small that weights do not overflow, however long the run is.
constexpr float kGradient = 1e-9F;
constexpr double kLoss = 1.0;
// Between two looks at whether the task was cancelled; a layer of a network takes about as long.
constexpr std::chrono::microseconds kBetweenLooks(2000);
// A processor that sleeps takes this long to wake up, at most. What is later is another program's.
constexpr std::chrono::microseconds kWakeUpMost(200);

class PacedSource final : public worker::GradientSource {
 public:
  explicit PacedSource(PacedSourceOptions options)
      : options_(std::move(options)), rng_(options_.seed, index(options_.worker)) {
    CHECK(options_.batch >= 1 && !options_.seconds.empty());
    std::size_t tensors = 0;
    for (const PacedLayer& layer : options_.layers) {
      tensors += layer.tensors;
    }
    CHECK(options_.layers.empty() || tensors == options_.manifest.tensors.size());
    prctl(PR_SET_TIMERSLACK, 1);  // For this thread: by default it wakes up to 50 us late.
  }

  [[nodiscard]] const protocol::Manifest& manifest() const override { return options_.manifest; }
  [[nodiscard]] std::uint64_t dataset_examples() const override {
    return options_.dataset_examples;
  }
  [[nodiscard]] std::vector<float> initial_weights() const override {
    return std::vector<float>(options_.manifest.numbers());
  }

  [[nodiscard]] std::optional<double> compute(std::span<const float> /*weights*/,
                                              std::span<const std::uint64_t> examples,
                                              std::span<float> gradient,
                                              const Cancelled& cancelled) override {
    const auto end = steady_clock::now() - lateness() + to_clock(draw_seconds(examples.size()));
    std::fill(gradient.begin(), gradient.end(), kGradient);
    if (!sleep_until(end, cancelled)) {
      return std::nullopt;
    }
    note_lateness(end);
    return kLoss;
  }

  [[nodiscard]] std::optional<double> compute_overlapped(std::span<const float> weights,
                                                         std::span<const std::uint64_t> examples,
                                                         std::span<float> gradient,
                                                         const Overlap& overlap) override {
    if (options_.layers.empty()) {
      return GradientSource::compute_overlapped(weights, examples, gradient, overlap);
    }
    const double seconds = draw_seconds(examples.size());
    const auto earlier = lateness();
    auto at = steady_clock::now() - earlier;  // What has been computed is computed by then.
    std::fill(gradient.begin(), gradient.end(), kGradient);
    std::size_t tensor = 0;
    std::size_t numbers = 0;
    for (const PacedLayer& layer : options_.layers) {
      for (const std::size_t end = tensor + layer.tensors; tensor < end; ++tensor) {
        numbers += options_.manifest.tensors[tensor].numbers();
      }
      switch (layer.tensors == 0 ? Weights::kThere : overlap.wait_for(numbers)) {
        case Weights::kGivenUp:
          return std::nullopt;
        case Weights::kCame:
          at = std::max(at, steady_clock::now() - earlier);
          break;
        case Weights::kThere:
          break;
      }
      at += to_clock(layer.forward * seconds);
      if (!sleep_until(at, overlap.cancelled)) {
        return std::nullopt;
      }
    }
    for (std::size_t i = options_.layers.size(); i-- > 0;) {
      at += to_clock(options_.layers[i].backward * seconds);
      if (!sleep_until(at, overlap.cancelled)) {
        return std::nullopt;
      }
      if (i == 0) {
        note_lateness(at);  // Before the last tensors leave, which takes time of its own.
      }
      for (const std::size_t first = tensor - options_.layers[i].tensors; tensor > first;) {
        overlap.ready(--tensor);
      }
    }
    return kLoss;
  }

  [[nodiscard]] double compute_in_parts(std::span<const float> /*weights*/,
                                        std::span<const std::uint64_t> examples,
                                        std::span<float> gradient,
                                        const TensorReady& ready) override {
    const double seconds = draw_seconds(examples.size());
    const auto end = steady_clock::now() - lateness() + to_clock(seconds);
    std::fill(gradient.begin(), gradient.end(), kGradient);
    const std::vector<double> behind = behind_tensors();
    for (std::size_t tensor = behind.size(); tensor-- > 0;) {
      std::this_thread::sleep_until(end - to_clock(behind[tensor] * seconds));
      if (tensor == 0) {
        note_lateness(end);
      }
      ready(tensor);
    }
    return kLoss;
  }

 private:
  // False if it was cancelled before.
  static bool sleep_until(steady_clock::time_point end, const Cancelled& cancelled) {
    while (steady_clock::now() < end) {
      if (cancelled && cancelled()) {
        return false;
      }
      std::this_thread::sleep_until(std::min(end, steady_clock::now() + kBetweenLooks));
    }
    return true;
  }
  // A pass begins earlier by as much as the one before ended late, so that their mean is right,
  // however long the processor takes to wake up.
  [[nodiscard]] steady_clock::duration lateness() { return std::exchange(late_, {}); }
  void note_lateness(steady_clock::time_point end) {
    late_ = std::clamp<steady_clock::duration>(steady_clock::now() - end, {}, kWakeUpMost);
  }
  // The share of computing that comes after the gradient of each tensor is there.
  [[nodiscard]] std::vector<double> behind_tensors() const {
    const auto& tensors = options_.manifest.tensors;
    std::vector<double> behind;
    double share = 0.0;
    for (const PacedLayer& layer : options_.layers) {
      behind.insert(behind.end(), layer.tensors, share);
      share += layer.backward;
    }
    if (!options_.layers.empty()) {
      return behind;
    }
    const auto after_first = static_cast<double>(
        std::max<std::uint64_t>(1, options_.manifest.numbers() - tensors.back().numbers()));
    std::uint64_t left = 0;
    for (const protocol::TensorInfo& tensor : tensors) {
      behind.push_back(options_.backward_share * static_cast<double>(left) / after_first);
      left += tensor.numbers();
    }
    return behind;
  }
  static steady_clock::duration to_clock(double seconds) {
    return std::chrono::duration_cast<steady_clock::duration>(
        std::chrono::duration<double>(seconds));
  }
  double draw_seconds(std::size_t examples) {
    return options_.seconds[rng_.below(options_.seconds.size())] * static_cast<double>(examples) /
           options_.batch;
  }

  const PacedSourceOptions options_;
  Rng rng_;
  steady_clock::duration late_{};  // By how much the last pass was.
};

}  // namespace

std::unique_ptr<worker::GradientSource> make_paced_source(PacedSourceOptions options) {
  return std::make_unique<PacedSource>(std::move(options));
}

}  // namespace outpace::live
