#include "fit/deep_batch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "fit/cut_rows.h"
#include "runtime_model/deep_features.h"
#include "runtime_model/deep_joint.h"

namespace outpace::fit {
namespace {

using runtime_model::DeepFeatures;
using runtime_model::kDeepFeatures;
using runtime_model::Trace;

constexpr std::size_t kPiece = 48;       // Iterations in a piece of a trace.
constexpr std::size_t kSequences = 128;  // Worker sequences per update, approximately.
constexpr std::size_t kOfAPiece = 16;    // Workers taken from one piece; more would be too similar.
constexpr std::size_t kJointSequences = 32;
// Shares of the pieces, by how their iterations end. The others end at a deadline.
constexpr double kUncut = 0.25;           // All workers arrive.
constexpr double kJointUncut = 0.5;       // As with imputed runtimes.
constexpr double kByLast = 0.4;           // At the count that was best in the previous iteration.
constexpr double kByCount = 0.1;          // At one count.
constexpr double kFewest = 0.2;           // The smallest such count, as a share of the workers.
constexpr double kLongestDeadline = 0.8;  // In log seconds after the fastest quarter.
constexpr double kAhead = 0.2;            // Sigma of the reference's initial error.

std::size_t count_of(double part, std::size_t workers) {
  return std::clamp(static_cast<std::size_t>(std::ceil(part * static_cast<double>(workers))),
                    std::size_t{1},
                    workers);
}

std::int64_t size(std::size_t of) {
  return static_cast<std::int64_t>(of);
}

void join(const std::vector<std::vector<float>>& rows, std::vector<float>& to) {
  to.clear();
  for (const std::vector<float>& row : rows) {
    to.insert(to.end(), row.begin(), row.end());
  }
}

}  // namespace

std::size_t deep_piece(const runtime_model::DeepShape& shape) {
  constexpr std::size_t kAfterWindow = 4;
  return is_joint(shape) ? runtime_model::kJointWindow + kAfterWindow : kPiece;
}

DeepBatch::DeepBatch(std::span<const Trace> traces,
                     double held_out,
                     runtime_model::DeepWeights unit)
    : traces_(traces),
      held_out_(held_out),
      unit_(std::move(unit)),
      piece_(deep_piece(unit_.shape)) {}

void DeepBatch::draw(Rng& rng) {
  features_.assign(piece_, {});
  seen_.assign(piece_, {});
  sequences_ = 0;
  if (is_joint(unit_.shape)) {
    for (; sequences_ < kJointSequences; ++sequences_) {
      add_joint(draw_piece(rng));
    }
  } else {
    while (sequences_ < kSequences) {
      const Piece piece = draw_piece(rng);
      const std::size_t columns =
          std::min({kSequences - sequences_, kOfAPiece, std::size_t{piece.trace->workers()}});
      add_columns(piece, columns, rng);
      sequences_ += columns;
    }
  }
  join(features_, all_features_);
  join(seen_, all_seen_);
}

at::Tensor DeepBatch::features() {
  return at::from_blob(all_features_.data(),
                       {size(piece_), size(sequences_), size(features_of(unit_.shape))});
}

at::Tensor DeepBatch::seen() {
  if (is_joint(unit_.shape)) {
    return at::from_blob(all_seen_.data(),
                         {size(piece_), size(sequences_), size(unit_.shape.workers)});
  }
  return at::from_blob(all_seen_.data(), {size(piece_), size(sequences_)});
}

DeepBatch::Piece DeepBatch::draw_piece(Rng& rng) const {
  const Trace& trace = traces_[rng.below(traces_.size())];
  const auto rows = static_cast<std::size_t>((1.0 - held_out_) * static_cast<double>(trace.rows()));
  const std::size_t begin = rng.below(rows - piece_ + 1);
  const double uncut = is_joint(unit_.shape) ? kJointUncut : kUncut;
  const double kind = rng.uniform();
  const double uniform = rng.uniform();
  const auto count_in = [&trace, uncut, kind, uniform](std::size_t row) {
    const std::size_t workers = trace.workers();
    const double by_last = uncut + (1.0 - uncut) * kByLast / (1.0 - kUncut);
    const double by_count = by_last + (1.0 - uncut) * kByCount / (1.0 - kUncut);
    if (kind < uncut || (kind < by_last && row == 0)) {
      return workers;
    }
    if (kind < by_last) {
      return best_count(trace.row(row - 1));
    }
    return kind < by_count ? count_of(kFewest + (1.0 - kFewest) * uniform, workers)
                           : count_by(trace.row(row), kLongestDeadline * uniform);
  };
  return {.trace = &trace, .begin = begin, .count_in = count_in};
}

void DeepBatch::add_columns(const Piece& piece, std::size_t columns, Rng& rng) {
  const std::size_t workers = piece.trace->workers();
  std::vector<std::size_t> chosen(workers);
  for (std::size_t w = 0; w < workers; ++w) {
    chosen[w] = w;
    std::swap(chosen[w], chosen[rng.below(w + 1)]);
  }
  chosen.resize(columns);
  DeepFeatures taken(kAhead * rng.normal());
  std::vector<float> all;
  for (std::size_t t = 0; t < piece_; ++t) {
    const std::span<const double> row = piece.trace->row(piece.begin + t);
    const double before = taken.reference();
    taken.take(cut_off(row, piece.count_in(piece.begin + t)), all);
    const double reference = t == 0 ? taken.reference() : before;
    for (const std::size_t w : chosen) {
      for (std::size_t i = 0; i < kDeepFeatures; ++i) {
        features_[t].push_back(all[i * workers + w]);
      }
      seen_[t].push_back(DeepFeatures::relative(row[w], reference));
    }
  }
}

void DeepBatch::add_joint(const Piece& piece) {
  std::vector<float> taken;
  for (std::size_t t = 0; t < piece_; ++t) {
    const std::span<const double> row = piece.trace->row(piece.begin + t);
    runtime_model::joint_features(cut_off(row, piece.count_in(piece.begin + t)), unit_, {}, taken);
    features_[t].insert(features_[t].end(), taken.begin(), taken.end());
    runtime_model::joint_features(cut_off(row, row.size()), unit_, {}, taken);
    seen_[t].insert(
        seen_[t].end(), taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(row.size()));
  }
}

}  // namespace outpace::fit
