#include "live/paced_source.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

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

class PacedSource final : public worker::GradientSource {
 public:
  explicit PacedSource(PacedSourceOptions options)
      : options_(std::move(options)), rng_(options_.seed, index(options_.worker)) {
    CHECK(options_.batch >= 1 && !options_.seconds.empty());
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
    const double whole = options_.seconds[rng_.below(options_.seconds.size())];
    const double share = static_cast<double>(examples.size()) / options_.batch;
    const auto end = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(
                                               std::chrono::duration<double>(share * whole));
    std::fill(gradient.begin(), gradient.end(), kGradient);
    while (steady_clock::now() < end) {
      if (cancelled && cancelled()) {
        return std::nullopt;
      }
      std::this_thread::sleep_until(std::min(end, steady_clock::now() + kBetweenLooks));
    }
    return kLoss;
  }

 private:
  const PacedSourceOptions options_;
  Rng rng_;
};

}  // namespace

std::unique_ptr<worker::GradientSource> make_paced_source(PacedSourceOptions options) {
  return std::make_unique<PacedSource>(std::move(options));
}

}  // namespace outpace::live
