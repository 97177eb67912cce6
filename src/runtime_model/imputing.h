// Replaces each censored runtime by a draw from the model's own forecast, as if it had been
// observed. Exact censoring is compared with it.
//
//   plain      x ~ p(x): any runtime, even one that would not have been cut off
//   truncated  x ~ p(x | x > s), where the worker was given s
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
    archive("rng", rng_)("predicted", foretold_)("has_forecast", has_forecast_);
  }
  [[nodiscard]] const std::string& believed() const override { return model_->believed(); }

 private:
  [[nodiscard]] double draw(std::uint32_t worker, double given, double shift);

  // Constant after construction.
  const std::unique_ptr<RuntimeModel> model_;
  const Imputation imputation_;

  Rng rng_;
  Forecast foretold_;  // Of the iteration that is observed next.
  bool has_forecast_ = false;
  std::vector<Observation> complete_;  // Scratch space.
};

// The model, or, for a draw, the model within an Imputing.
[[nodiscard]] std::unique_ptr<RuntimeModel> impute(std::unique_ptr<RuntimeModel> model,
                                                   Imputation imputation);

}  // namespace outpace::runtime_model
