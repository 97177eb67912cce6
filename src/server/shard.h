// The weights, the optimizer, and the gradients on their way in. On one machine there is one shard
// and it holds everything; it knows no policy, only what it is told to take up, forget and step.

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/spec.h"
#include "server/effects.h"
#include "update/aggregate.h"
#include "update/optimizer.h"

namespace outpace::server {

struct ShardOptions {
  Spec optimizer;
  update::Reduce reduce = update::Reduce::kWorkerOrder;
  double weight_decay = 0.0;
  double clip_norm = 0.0;  // 0: do not clip.
};

class Shard {
 public:
  // Throws a usage error if the optimizer's spec is wrong.
  Shard(const ShardOptions& options, std::vector<float> weights);

  // Holds a worker's gradient until it is taken up or forgotten; the older one of the same worker
  // is forgotten. False, and nothing is held, if a number in it is not finite.
  // REQUIRES: gradient.size() == weights().size().
  [[nodiscard]] bool hold(WorkerId worker, std::vector<float> gradient);
  void take_up(const TakeUp& taken);
  void forget(WorkerId worker);
  void step(const StepWeights& step);

  [[nodiscard]] std::span<const float> weights() const { return weights_; }
  [[nodiscard]] std::uint64_t clipped() const { return clipped_; }

 private:
  struct Held {
    std::vector<float> gradient;
    double squared_norm = 0.0;
  };

  const ShardOptions options_;
  std::unique_ptr<update::Optimizer> optimizer_;
  update::Aggregate aggregate_;
  std::vector<float> weights_;
  std::vector<Held> held_;  // By worker.
  std::uint64_t clipped_ = 0;
};

}  // namespace outpace::server
