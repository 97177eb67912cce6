// Fits the deep runtime model to recorded runtimes.
//
// Adam minimises  -(E_q[log p(x | z)] - KL(q || p)) - log p(x predicted). The first term is the
// evidence lower bound (Krishnan et al. 2017, equation 6, reparameterised, one draw). The second
// says how well a few draws of the transition predict each runtime, which is the model's purpose.
// The fit sees short pieces of the traces. Most are censored at a random count, so that the model
// learns what "longer than" means. The weights are averaged over about two hundred updates. The
// last part of each trace is held out; the weights that predict it best are the result.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "runtime_model/deep_weights.h"

namespace outpace::runtime_model {
class Trace;
}

namespace outpace::fit {

struct DeepFitOptions {
  std::uint64_t seed = 1;
  std::uint32_t updates = 2000;      // At most.
  double held_out = 0.15;            // The last part of each trace's rows.
  std::uint32_t patience = 15;       // Measurements without a better one, after which it ends.
  runtime_model::DeepShape shape{};  // Unless it goes on from `begin`.
  std::optional<runtime_model::DeepWeights> begin;
};

struct DeepFitProgress {
  std::uint32_t updates = 0;
  double bound = 0.0;     // Nats a runtime, mean since the last measurement.
  double held_out = 0.0;  // Mean log density of held-out log seconds by the forecasts.
  bool best = false;      // So far: `weights` are worth keeping.
};

// The initial weights of a seed.
[[nodiscard]] runtime_model::DeepWeights initial_deep_weights(const runtime_model::DeepShape& shape,
                                                              std::uint64_t seed);

// The held-out part's mean log density by the forecasts of a model with these weights, when it sees
// every runtime, and when it sees what came by a deadline soon after the quick ones: the mean of
// both.
[[nodiscard]] double foretold_by(const runtime_model::DeepWeights& weights,
                                 const runtime_model::Trace& trace,
                                 std::size_t from);

// On a GPU if there is one. `progress` gets each measurement, with the weights; the fit ends early
// if it returns false. REQUIRES: at least deep_fit_rows(options) rows in each trace.
[[nodiscard]] runtime_model::DeepWeights fit_deep(
    std::span<const runtime_model::Trace> traces,
    const DeepFitOptions& options,
    const std::function<bool(const DeepFitProgress&, const runtime_model::DeepWeights&)>& progress);

// How many rows a trace must have at least.
[[nodiscard]] std::size_t deep_fit_rows(const DeepFitOptions& options);

}  // namespace outpace::fit
