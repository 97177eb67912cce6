// Kardam: which gradients of an asynchronous run may count if up to f of n workers are wrong.
//
//   Lipschitz filter: of each worker, from its last two gradients and the weights they are of,
//     K_p = ||g - g_before|| / (||w - w_before|| + 1e-9);
//   a gradient passes if K_p, or with `of_server` the server's
//     K = ||g - g_last|| / (||w_now - w_last|| + 1e-9),
//   is at most the (n - f) / n quantile of all K_p. g_last was taken up last, and w_last is before
//   the last update.
//
//   Frequency filter: no f workers supply more than f of any 2 f + 1 gradients in a row that are
//   taken up. That is: none supplies two, for f - 1 others of those there make up for the rest.
//
// Damaskinos, El Mhamdi, Guerraoui, Patra, Taziki, "Asynchronous Byzantine Machine Learning (the
// case of SGD)", ICML 2018, section 3. K_p is infinite before a worker's second gradient, so that
// the quantile is as long as fewer than n - f workers have one that is not.
//
// Of our own:
//   - The way ||w - w_before|| counts as no less than the usual one divided by `within` and no more
//     than that times it; the usual one is the median of the workers' last. The noise of
//     mini-batches does not grow with the way, so without this who came a short way lets through
//     whatever is long, and one wrong gradient, after which all have come a long way, the next.
//   - The bound is that of the K_p that are known: all but the f greatest, once 2 f + 1 are. As the
//     paper has it all pass at first, and then what wrong workers sent is the bound itself, as long
//     as f others are not known: they may undo the run as it begins.
//   - Before there is a bound a gradient passes if it is no longer than `within` times the median
//   of
//     the workers' last ones, its own among them, of whom there must be 2 f + 1, or a majority if
//     that is less.
//   - On weights that have not moved (a worker whose gradient was turned away may get the same ones
//     again) K_p can only rise, or a worker that repeats itself would look smooth.
//   - n counts the workers that are there, and if they are fewer than 3 f + 1, f is (n - 1) / 3;
//   the
//     frequency filter counts those alone that compute, or nobody could end an epoch.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

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

  // Of the worker's last gradient.
  [[nodiscard]] double coefficient(WorkerId worker) const {
    return workers_.at(index(worker)).coefficient;
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();
  struct Worker {
    SharedWeights released;       // Null: it is not there.
    SharedWeights weights;        // Of its last gradient; null before the first.
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
  std::deque<WorkerId> recent_;  // Of the last 2 f taken up, the newest last.
  std::vector<double> all_;      // A field only to keep its memory.
  // With of_server alone.
  std::vector<float> last_;  // Taken up; empty before the first.
  double step_ = 0.0;        // How far the last update moved the weights.
};

}  // namespace outpace::update
