// The weights, the optimizer, and the gradients on their way in. On one machine there is one shard
// and it holds everything; it knows no policy, only what it is told to hand out, take up, forget
// and step.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/spec.h"
#include "server/effects.h"
#include "update/aggregate.h"
#include "update/correction.h"
#include "update/filter.h"
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

  // The present weights, to keep: one copy for all who ask for those of one version.
  [[nodiscard]] update::SharedWeights snapshot();
  // The same, for the release of a worker: its next gradient is of these.
  [[nodiscard]] update::SharedWeights release(WorkerId worker);

  // Holds a worker's gradient until it is taken up or forgotten; the older one of the same worker
  // is forgotten. False, and nothing is held, if a number in it is not finite.
  // REQUIRES: gradient.size() == weights().size().
  [[nodiscard]] bool hold(WorkerId worker, std::vector<float> gradient);
  // Gradients are judged one by one, before they are taken up.
  [[nodiscard]] bool judges() const { return kardam_.has_value(); }
  // What the filter finds of the gradient that is held; it learns from it. `computing`: as
  // Kardam's. REQUIRES: judges(); it is of the worker's last release, and was not judged before.
  [[nodiscard]] update::Judgement judge(WorkerId worker, std::uint32_t computing);
  // REQUIRES: holds this worker's gradient; if the staleness rule corrects, of its last release.
  void take_up(const TakeUp& taken);
  void forget(WorkerId worker);
  // The worker is gone: what is kept of it is freed.
  void forget_worker(WorkerId worker);
  void step(const StepWeights& step);
  // Of the last step that asked for them.
  [[nodiscard]] const GradientNorms& norms() const { return norms_; }

  [[nodiscard]] std::span<const float> weights() const { return weights_; }
  [[nodiscard]] std::uint64_t clipped() const { return clipped_; }

 private:
  struct Held {
    std::vector<float> gradient;
    double squared_norm = 0.0;
  };

  [[nodiscard]] std::span<const float> sum_of_taken();

  const ShardOptions options_;
  std::unique_ptr<update::Optimizer> optimizer_;
  std::unique_ptr<update::Correction> correction_;  // Null: the rule is a weight alone.
  std::optional<update::Kardam> kardam_;            // Nothing: no gradient is judged.
  update::Aggregate aggregate_;
  std::vector<float> weights_;
  update::SharedWeights snapshot_;  // Of weights_, if somebody has asked for it.
  std::vector<Held> held_;          // By worker.
  std::vector<float> sum_;          // Of an update's gradients; a field only to keep its memory.
  double squares_ = 0.0;            // Of the single norms that were taken up.
  GradientNorms norms_;
  std::uint64_t clipped_ = 0;
};

}  // namespace outpace::server
