// Several models side by side; who has foretold best of late is believed.
//
//   score_m  <-  keep * score_m + mean over workers of log p_m(what was seen)
//
// p_m is the density of log seconds at a runtime, or the chance of a longer one, by the forecast
// that the model had made: the predictive log-likelihood (Dawid, "Present Position and Potential
// Developments: The Prequential Approach", 1984), of all workers together.
//
// A forecast that takes long makes the iteration long: a model that needs more than a quarter of
// the first iteration's median is left out, unless it is the quickest. What models need is written
// down for a processor of 2.4 GHz, and not measured: a policy depends on nothing but what it is
// told.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime_model/runtime_model.h"

namespace outpace::runtime_model {

class AutoModel final : public RuntimeModel {
 public:
  struct Candidate {
    std::string name;
    std::unique_ptr<RuntimeModel> model;
    double seconds = 0.0;  // That a forecast takes, for each worker.
  };
  // The first is believed until there are scores. REQUIRES: at least one.
  explicit AutoModel(std::vector<Candidate> candidates);

  void observe(std::span<const Observation> iteration) override;
  void correct(std::uint32_t worker, double seconds) override;
  [[nodiscard]] bool forecast(Forecast& out) override;
  // Whose forecast was given last.
  [[nodiscard]] const std::string& believed() const override { return scored_[best_].name; }

 private:
  void leave_out_slow(std::span<const Observation> iteration);

  struct Scored {
    std::string name;
    std::unique_ptr<RuntimeModel> model;
    double seconds;
    Forecast forecast;
    bool has_forecast = false;
    double score = 0.0;
  };

  std::vector<Scored> scored_;
  std::size_t best_ = 0;
  bool begun_ = false;
};

// The log of the joint density of all that was seen, for each worker of whom something was; 0 if
// there is none.
[[nodiscard]] double mean_log_likelihood(const Forecast& forecast,
                                         std::span<const Observation> iteration);

}  // namespace outpace::runtime_model
