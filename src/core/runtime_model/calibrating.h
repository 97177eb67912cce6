// Recalibrates a model's forecasts of workers' runtimes by how past runtimes came out.
//
// A forecast F is calibrated if F(x), the rank of the runtime x that came, is even over (0, 1)
// (Dawid, "Statistical Theory: The Prequential Approach", 1984). This keeps how often the ranks of
// past iterations were in each of twenty equal parts, older ones with less weight, and forecasts
//
//   F'(t) = G(F(t)),   G: the distribution of past ranks
//
// (Kuleshov, Fenner, Ermon, "Accurate Uncertainties for Deep Learning Using Calibrated Regression",
// 2018; here during the run). Each rank is of an iteration that came after its forecast. The rank
// of a worker that was cut off is only known to be larger than F(s): it counts for all larger
// ranks, as G has them (Kaplan & Meier 1958).
//
// Within a part, and so in the tails, F' has the shape of F.
//
// A forecast with several common shifts is left as it is, and tells nothing: a rank would mix the
// shift with the worker.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class Calibrating final : public RuntimeModel {
 public:
  explicit Calibrating(std::unique_ptr<RuntimeModel> model);

  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override { model_->correct(worker, seconds); }
  [[nodiscard]] bool forecast(Forecast& out) override;
  [[nodiscard]] const std::string& believed() const override { return model_->believed(); }
  void keep(Archive& archive) override;

 private:
  static constexpr std::size_t kParts = 20;

  void learn(std::span<const Observation> iteration);
  void add_longer(double rank);
  [[nodiscard]] float recalibrated(float rank) const;
  void sum_up();

  const std::unique_ptr<RuntimeModel> model_;  // Constant after construction.
  std::array<double, kParts> counts_;          // Ranks in each part, with decaying weights.
  std::array<float, kParts + 2> below_{};      // Their share below each part; the last twice.
  Forecast forecast_;                          // As the model made it.
  bool has_forecast_ = false;
};

}  // namespace outpace::runtime_model
