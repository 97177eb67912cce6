// The weights, the optimizer, and the gradients that wait for a decision. On one machine there is
// one shard, and it holds everything. It knows no policy: it hands out, accepts, forgets and steps
// as it is told.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/spec.h"
#include "policy/policy.h"
#include "server/effects.h"
#include "update/aggregate.h"
#include "update/brought_state.h"
#include "update/correction.h"
#include "update/filter.h"
#include "update/groups.h"
#include "update/judgement.h"
#include "update/kardam.h"
#include "update/optimizer.h"
#include "update/staleness.h"

namespace outpace::server {

struct ShardOptions {
  Spec optimizer;
  update::StalenessRule staleness = update::StalenessRule::none();  // For its corrections alone.
  update::Reduce reduce = update::Reduce::kWorkerOrder;
  double weight_decay = 0.0;
  double clip_norm = 0.0;  // 0: do not clip.
  update::FilterRule filter = update::FilterRule::none();
  // In place of optimizer and weight decay, for a network of as many tensors.
  std::optional<update::Groups> groups = std::nullopt;
};

// Throws a usage error if the optimizer's spec is wrong, or does not suit the staleness rule.
void check(const ShardOptions& options);

class Shard {
 public:
  // Throws as check() does. `tensors`: the sizes of the network's tensors in their order, which add
  // up to that of the weights; without any, all is one tensor.
  Shard(const ShardOptions& options,
        std::vector<float> weights,
        std::vector<std::size_t> tensors = {});

  // A tensor's optimizer goes on from what another training has left. One line that says why it
  // cannot; empty if it does.
  [[nodiscard]] std::string begin_from(std::uint32_t tensor, const update::BroughtState& state);

  // The present weights, which stay as they are: a step puts the next version elsewhere.
  [[nodiscard]] update::SharedWeights snapshot();
  // The same, for the release of a worker, which computes its next gradient on them.
  [[nodiscard]] update::SharedWeights release(WorkerId worker);

  // Holds a worker's gradient until it is accepted or forgotten; the older one of the same worker
  // is forgotten. False, and nothing is held, if a number in it is not finite, buffers that are
  // only passed on aside. `squared_norm`: if the gradient's is known, it is not computed again.
  // `without`: the tensors that it has no gradient of, which are taken for 0. REQUIRES:
  // gradient.size() == weights().size(); why_not_without() is empty.
  [[nodiscard]] bool hold(WorkerId worker,
                          std::vector<float> gradient,
                          std::optional<double> squared_norm = std::nullopt,
                          std::vector<std::uint32_t> without = {});
  // Why no gradient may come without these tensors; empty if one may.
  [[nodiscard]] std::string why_not_without(std::span<const std::uint32_t> tensors) const;
  // Gradients are judged one by one, before they are accepted.
  [[nodiscard]] bool judges() const { return kardam_.has_value(); }
  // What the filter finds of the gradient that is held. The filter learns from it. `computing`: as
  // Kardam's. REQUIRES: judges(); it is of the worker's last release, and was not judged before.
  [[nodiscard]] update::Judgement judge(WorkerId worker, std::uint32_t computing);
  // REQUIRES: holds this worker's gradient; if the staleness rule corrects, of its last release.
  void accept(const Accept& accepted);
  void forget(WorkerId worker);
  // The worker is gone: frees all that is kept for it.
  void forget_worker(WorkerId worker);
  void step(const StepWeights& step);
  // In place of a step: the mean of what was accepted, and the tensors that none of it has.
  struct HandedIn {
    std::vector<float> gradient;
    std::vector<std::uint32_t> without;
  };
  // REQUIRES: something was accepted since the last step or the last call.
  [[nodiscard]] HandedIn hand_in();
  // Forgets what was accepted since.
  void discard();
  // The weights are these from now on. REQUIRES: of the same size.
  void replace(std::vector<float> weights);
  // The groups' rates, from the next step on. REQUIRES: options.groups; one for each.
  void set_rates(std::span<const double> rates);
  // The norms that the last step asked for; of no gradients if it was one of a group that is not
  // complete (policy::kNormGroup).
  [[nodiscard]] const GradientNorms& norms() const { return norms_; }

  [[nodiscard]] std::span<const float> weights() const { return *weights_; }
  // Whether all weights are, buffers that are only passed on aside.
  [[nodiscard]] bool finite() const;
  [[nodiscard]] std::uint64_t clipped() const { return clipped_; }

  // What outlasts its workers, and the gradients that are not in the weights yet.
  void keep(Archive& archive);

 private:
  struct Held {
    std::vector<float> gradient;
    double squared_norm = 0.0;
    std::vector<float> newest;           // Buffers, taken out of the gradient.
    std::vector<std::uint32_t> without;  // Tensors.
  };

  [[nodiscard]] std::span<const float> sum_of_accepted();
  // Keeps the memory of a version for a later one, if nobody reads it.
  void reuse(std::shared_ptr<std::vector<float>> version);
  void measure_norms();
  void measure_lone(double scale);
  // Buffers do not count.
  [[nodiscard]] double norm_squared(std::span<const float> gradient) const;

  const ShardOptions options_;
  update::GroupedOptimizer* grouped_ = nullptr;  // optimizer_, if there are groups.
  std::unique_ptr<update::Optimizer> optimizer_;
  std::unique_ptr<update::Correction> correction_;  // Null: the rule is a weight alone.
  std::optional<update::Kardam> kardam_;            // Nothing: no gradient is judged.
  update::Aggregate aggregate_;
  std::shared_ptr<std::vector<float>> weights_;  // The present version's.
  std::vector<float> spare_;                     // For the next one; empty: none is left.
  std::vector<Held> held_;                       // By worker.
  std::vector<float> sum_;  // The sum of an update's gradients; a field only to keep its memory.
  double squares_ = 0.0;    // The sum of the accepted gradients' squared norms, by examples.
  GradientNorms norms_;
  // One group of updates of one gradient is measured in each kLoneBetween: another pass over all of
  // them would cost more than the estimate gains.
  static constexpr std::uint32_t kLoneBetween = 4 * policy::kNormGroup;
  struct Lone {
    std::vector<float> sum;  // By examples; so is the next.
    double squares = 0.0;
    double examples = 0.0;
    std::uint32_t gradients = 0;

    void begin_anew() {
      sum.clear();
      squares = 0.0;
      examples = 0.0;
      gradients = 0;
    }
  };
  Lone lone_;
  std::uint64_t clipped_ = 0;
};

}  // namespace outpace::server
