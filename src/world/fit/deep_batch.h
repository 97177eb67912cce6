// Pieces of traces as tensors, for one update of a fit of a deep model.
//
// A piece is some successive iterations. They end early in most pieces, so that the model learns
// what "longer than" means; what it should have forecast is always the whole truth. A piece of deep
// is some workers of a trace, a sequence each; a piece of deep-joint is one sequence.

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <ATen/ATen.h>

#include "base/rng.h"
#include "runtime_model/deep_weights.h"
#include "runtime_model/trial.h"

namespace outpace::fit {

// Iterations in a piece.
[[nodiscard]] std::size_t deep_piece(const runtime_model::DeepShape& shape);

class DeepBatch {
 public:
  // `held_out`: the share at the end of each trace that is in no piece. `unit`: of the weights that
  // are fitted; the numbers are not used.
  DeepBatch(std::span<const runtime_model::Trace> traces,
            double held_out,
            runtime_model::DeepWeights unit);

  void draw(Rng& rng);

  // Iterations x sequences x features.
  [[nodiscard]] at::Tensor features();
  // For deep: the runtimes relative to the reference of the iteration before, iterations x
  // sequences. For deep-joint: those in its unit, iterations x sequences x workers.
  [[nodiscard]] at::Tensor seen();

 private:
  struct Piece {
    const runtime_model::Trace* trace;
    std::size_t begin;                                     // Row of the trace.
    std::function<std::size_t(std::size_t row)> count_in;  // Gradients of a row.
  };
  [[nodiscard]] Piece draw_piece(Rng& rng) const;
  void add_columns(const Piece& piece, std::size_t columns, Rng& rng);
  void add_joint(const Piece& piece);

  // Constant after construction.
  const std::span<const runtime_model::Trace> traces_;
  const double held_out_;
  const runtime_model::DeepWeights unit_;
  const std::size_t piece_;
  // The present batch, by iteration:
  std::size_t sequences_ = 0;
  std::vector<std::vector<float>> features_;
  std::vector<std::vector<float>> seen_;
  // They, one after another.
  std::vector<float> all_features_;
  std::vector<float> all_seen_;
};

}  // namespace outpace::fit
