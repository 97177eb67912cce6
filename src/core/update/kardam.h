// Kardam: decides which gradients of an asynchronous run may count if f of n workers may be wrong.
//
//   Lipschitz filter, from each worker's last two gradients and the weights they were computed on:
//     K_p = ||g - g_before|| / (||w - w_before|| + 1e-9)
//   or, with `of_server`, from the last accepted gradient and the weights before the last update:
//     K = ||g - g_last|| / (||w_now - w_last|| + 1e-9)
//   A gradient passes if this is at most the (n - f) / n quantile of all K_p.
//
//   Frequency filter: no f workers supply more than f of any 2 f + 1 accepted gradients in a row.
//   So no worker supplies two: f - 1 others could supply the rest.
//
// Damaskinos, El Mhamdi, Guerraoui, Patra, Taziki, "Asynchronous Byzantine Machine Learning (the
// case of SGD)", ICML 2018, section 3. K_p is infinite before a worker's second gradient. The
// quantile is infinite until n - f workers have a finite K_p.
//
// These rules are ours:
//   - The distance ||w - w_before|| is clamped to between 1 / `within` and `within` times the usual
//     one, the median of the workers' last distances. The noise of mini-batches does not grow with
//     the distance. Without the clamp, a worker that moved little raises the bound for long
//     gradients; and after one wrong gradient all workers have moved far, so that the next passes.
//   - The bound is the largest known K_p without the f largest, once 2 f + 1 are known. By the
//     paper's rule all gradients pass at first, and then a wrong worker's K_p is the bound until f
//     others are known: wrong workers may ruin the start of a run.
//   - Before there is a bound, a gradient passes if it is at most `within` times as long as the
//     median of the workers' last ones, its own included. At least 2 f + 1 of them must exist, or a
//     majority of the workers if that is less.
//   - If the weights have not moved (a worker whose gradient was turned away may get the same ones
//     again), K_p can only rise. Otherwise a worker that repeats itself would look smooth.
//   - n is the number of workers that are present. If n < 3 f + 1, f is (n - 1) / 3. The frequency
//     filter counts only workers that compute; otherwise nobody could end an epoch.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "base/archive.h"
#include "update/correction.h"
#include "update/judgement.h"

namespace outpace::update {

class Kardam {
 public:
  struct Options {
    std::uint32_t f;  // At least 1.
    bool of_server = false;
    double within = 2.0;  // At least 1; infinity: as in the paper.
  };

  // `size`: of the weights, in numbers. State: for each worker a gradient, and at most two
  // versions of the weights, one copy for all workers that were released with it.
  Kardam(Options options, std::size_t size) : options_(options), size_(size) {}

  // The worker's next gradient will be of these.
  void released(WorkerId worker, const SharedWeights& weights);
  // The worker's gradient of the weights it was released with last. `computing`: workers that
  // compute or, as this one, have just done so. REQUIRES: every number is finite; the worker was
  // released, and this release's gradient was not judged before.
  [[nodiscard]] Judgement judge(WorkerId worker,
                                std::span<const float> gradient,
                                std::uint32_t computing);
  // What was judged last of this worker counts.
  void accepted(WorkerId worker);
  // An update.
  void stepped(std::span<const float> before, std::span<const float> after);
  // The worker is gone: frees what is kept of it.
  void forget(WorkerId worker);
  // What outlasts its workers.
  void keep(Archive& archive) { archive("recent", recent_)("last", last_)("step", step_); }

  // The coefficient of the worker's last gradient.
  [[nodiscard]] double coefficient(WorkerId worker) const {
    return workers_.at(index(worker)).coefficient;
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();
  struct Worker {
    SharedWeights released;       // Null: it is not there.
    SharedWeights weights;        // What its last gradient was computed on; null before the first.
    std::vector<float> gradient;  // The last.
    double coefficient = kUnknown;
    double way = 0.0;  // Between the last two weights that differ; 0 before.
  };

  // Takes in the worker's next coefficient.
  void measure(Worker& worker, std::span<const float> gradient);
  // The median of the workers' ways; 0 if there is none.
  [[nodiscard]] double usual_way();
  // Without a bound.
  [[nodiscard]] Judgement by_length(std::span<const float> gradient);
  [[nodiscard]] double server_coefficient(std::span<const float> gradient) const;
  [[nodiscard]] double quantile();
  [[nodiscard]] bool is_recent(WorkerId worker, std::uint32_t computing) const;

  const Options options_;
  const std::size_t size_;
  std::vector<Worker> workers_;
  std::deque<WorkerId> recent_;  // The workers of the last 2 f taken up, the newest last.
  std::vector<double> all_;      // A field only to keep its memory.
  // With of_server alone.
  std::vector<float> last_;  // Taken up; empty before the first.
  double step_ = 0.0;        // How far the last update moved the weights.
};

}  // namespace outpace::update
