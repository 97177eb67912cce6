// Fits a deep runtime model to recorded runtimes. For `deep`, Adam minimises  -(E_q[log p(x | z)] -
// KL(q || p)) - log p(x predicted). The first term is the evidence lower bound (Krishnan et al.
// 2017, equation 6, reparameterised, one draw). The second says how well a few draws of the
// transition predict each runtime, which is the model's purpose. The fit sees short pieces of the
// traces. Most are censored at a random count, so that the model learns what "longer than" means.
// The weights are averaged over about two hundred updates. The last part of each trace is held out;
// the weights that predict it best are the result.
//
// `deep-joint` is fitted in the same way, but by the evidence lower bound alone, as Teng & Wood
// (2018) do, and more of its pieces are not censored.

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
  std::uint32_t updates = 2000;  // Upper limit.
  double held_out = 0.15;        // The share at the end of each trace's rows.
  std::uint32_t patience = 15;  // The fit ends after this many measurements without an improvement.
  runtime_model::DeepShape shape{};  // Ignored if the fit continues from `begin`. If it is joint,
                                     // the traces have its number of workers.
  std::optional<runtime_model::DeepWeights> begin;
};

struct DeepFitProgress {
  std::uint32_t updates = 0;
  double bound = 0.0;     // Nats per runtime, averaged since the last measurement.
  double held_out = 0.0;  // Mean log density of the held-out log seconds under the forecasts.
  bool best = false;      // The best so far: `weights` are worth keeping.
};

// The initial weights of a seed; the unit of a joint model is that of no trace.
[[nodiscard]] runtime_model::DeepWeights initial_deep_weights(const runtime_model::DeepShape& shape,
                                                              std::uint64_t seed);

// Mean log density of the held-out part under the forecasts of a model with these weights. It is
// the average of two cases: the model sees every runtime, and the model sees only what came by a
// deadline soon after the fast workers.
[[nodiscard]] double log_score(const runtime_model::DeepWeights& weights,
                               const runtime_model::Trace& trace,
                               std::size_t from);

// Fits on a GPU if there is one. `progress` receives each measurement with its weights; returning
// false ends the fit. REQUIRES: at least deep_fit_rows(options) rows in each trace.
[[nodiscard]] runtime_model::DeepWeights fit_deep(
    std::span<const runtime_model::Trace> traces,
    const DeepFitOptions& options,
    const std::function<bool(const DeepFitProgress&, const runtime_model::DeepWeights&)>& progress);

// The fewest rows that a trace must have.
[[nodiscard]] std::size_t deep_fit_rows(const DeepFitOptions& options);

}  // namespace outpace::fit
