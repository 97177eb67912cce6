// Replaces each censored runtime by a draw from the model's own forecast, as if it had been
// observed. Exact censoring is compared with it.
//
//   plain      x ~ p(x): any runtime, even one that would not have been cut off
//   truncated  x ~ p(x | x > s), where the worker was given s
//
// x has all workers that were cut off in an iteration. Where a forecast has joint draws (draws.h),
// x is one of these, so workers that turn slow together do so in an imputed iteration too. For
// `truncated` it is one in which all of them are longer than s: rejection, whose draws are exact.
// With many workers no draw may be that; then it is one in which the most are, and each of the
// others is drawn again from its own row beyond s. Without joint draws, workers are independent
// given the common shift.
//
// Teng & Wood, "Bayesian Distributed Stochastic Gradient Descent" (NeurIPS 2018), impute draws from
// the predictive distribution. A late time that comes after all is ignored, because a draw has
// taken its place.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

// What a model is shown of a worker that was cut off: that it takes longer, a draw, or the runtime
// that it would have had, which only a replay knows.
enum class Imputation : std::uint8_t { kNone, kTruncated, kPlain, kTrue };

class Imputing final : public RuntimeModel {
 public:
  // REQUIRES: a draw.
  Imputing(std::unique_ptr<RuntimeModel> model, Imputation imputation);

  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t /*worker*/, double /*seconds*/) override {}
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override {
    archive.group("model", [&] { model_->keep(archive); });
    archive("rng", rng_)("predicted", forecast_)("has_forecast", has_forecast_);
  }
  [[nodiscard]] const std::string& believed() const override { return model_->believed(); }

 private:
  // A worker that was cut off. P(a runtime shorter than one that may be imputed) is `passed`.
  struct CutOff {
    std::uint32_t worker;
    double given;
    double passed;
  };
  [[nodiscard]] double draw_scale();
  void collect_cut_off(double scale);
  [[nodiscard]] std::span<const float> draw_row();
  [[nodiscard]] double draw_probability(const CutOff& one, std::span<const float> row);

  // Constant after construction.
  const std::unique_ptr<RuntimeModel> model_;
  const Imputation imputation_;

  Rng rng_;
  Forecast forecast_;  // For the iteration that is observed next.
  bool has_forecast_ = false;
  std::vector<Observation> complete_;  // Scratch space.
  std::vector<CutOff> cut_off_;
  std::vector<std::size_t> best_rows_;
};

// The model, or, for a draw, the model within an Imputing.
[[nodiscard]] std::unique_ptr<RuntimeModel> impute(std::unique_ptr<RuntimeModel> model,
                                                   Imputation imputation);

}  // namespace outpace::runtime_model
