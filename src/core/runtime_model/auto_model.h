// Runs several runtime models side by side and uses the one that has predicted best recently.
//
//   score_m  <-  keep * score_m + mean over workers of log p_m(observation)
//
// p_m is the model's predictive density of log seconds at the observed runtime, or, for a worker
// that was cut off, the predicted probability of a longer runtime. The score is thus a decaying
// predictive log-likelihood (Dawid, "Present Position and Potential Developments: The Prequential
// Approach", 1984).
//
// A slow forecast lengthens the iteration itself. A model whose forecast takes more than a quarter
// of the recent median runtime is therefore left out, unless it is the fastest. It comes back when
// runtimes have become longer. The cost of each model is a constant, written down for a 2.4 GHz
// processor. It is not measured, because a policy depends only on its inputs.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime_model/moving_grid.h"
#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class AutoModel final : public RuntimeModel {
 public:
  struct Candidate {
    std::string name;
    std::unique_ptr<RuntimeModel> model;
    double seconds = 0.0;  // Cost of a forecast, per worker.
  };
  // The first candidate is used until there are scores. REQUIRES: at least one candidate.
  explicit AutoModel(std::vector<Candidate> candidates);

  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  void keep(Archive& archive) override;
  // The model whose forecast was returned last.
  [[nodiscard]] const std::string& believed() const override { return scored_[best_].name; }

 private:
  static constexpr std::size_t kRecentIterations = 20;

  void leave_out_slow(std::span<const Observation> iteration);

  struct Scored {
    std::string name;
    std::unique_ptr<RuntimeModel> model;
    double seconds;
    Forecast forecast;
    bool has_forecast = false;
    double score = 0.0;
    bool left_out = false;
  };

  std::vector<Scored> scored_;
  std::size_t best_ = 0;
  RecentMedian recent_{kRecentIterations};
};

// Log of the joint predictive density of all observations, divided by the number of workers
// observed; 0 if none was.
[[nodiscard]] double mean_log_likelihood(const Forecast& forecast,
                                         std::span<const Observation> iteration);

}  // namespace outpace::runtime_model
