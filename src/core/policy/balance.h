// How large each worker's mini-batch is, so that all take the same time for theirs.
//
//   size_w = clamp(level * speed_w, 1, most * nominal),   speed_w = 1 / median(seconds per example)
//
// with the one level that makes the sizes add up to a nominal mini-batch for each worker. Chen,
// Weng, Wang, Li & Li, "Semi-Dynamic Load Balancing" (LB-BSP, SoCC 2020): sizes in proportion to
// predicted speeds, changed between iterations and never within one. The paper predicts with a
// recurrent network; here the forecast is the median of a worker's last answers.
//
// Seconds per example are the whole time from the release to the answer by the examples in it, so a
// part that does not grow with the examples (the way there, the server's queue) is in them. That
// needs no second number: with t(e) = f + c e, sizes in proportion to e / t(e) stay as they are
// exactly where all t(e) are equal, and each step brings log e nearer to it by the factor
// f / (f + c e) < 1.
//
// Sizes hold for a round: it ends with the first update after as many answers as workers are live,
// or after one of them left. Under a synchronous policy that is every update. A worker that has
// given fewer answers than kAnswers gets nominal mini-batches; the others' sizes add up to nominal
// ones among themselves.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/time.h"
#include "policy/members.h"
#include "policy/policy.h"

namespace outpace::policy {

struct BalanceOptions {
  // The largest mini-batch, in nominal ones; from 1 to kShareMost. A worker's memory grows with it,
  // and so does the step of an update that is one gradient alone.
  double most = 4.0;

  bool operator==(const BalanceOptions&) const = default;
};

class Balance {
 public:
  // Answers that a forecast is made of. With three a single one that is unlike the others, such as
  // a process's first, changes nothing, and what lasts is believed at its second. Under sync five
  // are 0.6 % faster where all workers are alike (calm-8) and 6 % slower where speeds drift.
  static constexpr std::uint32_t kAnswers = 3;

  // REQUIRES: 1 <= most <= kShareMost.
  explicit Balance(BalanceOptions options);

  // Forgets what was learnt of a worker of this id. The only call that allocates.
  void join(WorkerId worker);
  // REQUIRES: the worker is live, here and below.
  void leave(WorkerId worker);
  // The worker took `took` for `examples`, where a full mini-batch has `nominal` examples.
  void answered(WorkerId worker, std::uint32_t examples, std::uint32_t nominal, Duration took);
  // The worker was told to stop after `after`, before it had computed its `examples`. The forecast
  // counts this as twice that time for all of them.
  void stopped(WorkerId worker, std::uint32_t examples, Duration after);
  // Its answer says nothing of its speed.
  void ended(WorkerId worker);
  // The weights moved.
  void updated();

  // Examples of its next mini-batch; 0 for a nominal one.
  [[nodiscard]] std::uint32_t size(WorkerId worker) { return workers_[worker].size; }

  // As Policy's.
  void keep(Archive& archive);

 private:
  struct Worker {
    std::array<double, kAnswers> seconds{};  // Per example; the oldest is overwritten.
    std::uint32_t answers = 0;
    std::uint32_t size = 0;  // In this round; 0: nominal.
    double speed = 0.0;      // In this round, if it is known.

    [[nodiscard]] bool known() const { return answers >= kAnswers; }
    void add(double seconds_per_example);
    [[nodiscard]] double median() const;
  };

  void begin_round();
  // The level at which the sizes add up to `total`. REQUIRES: one worker is known.
  [[nodiscard]] double level(double total) const;
  [[nodiscard]] double bounded(double size) const;

  // Constant after construction.
  const BalanceOptions options_;
  // State.
  std::uint32_t nominal_ = 0;  // 0: not known yet.
  double size_most_ = 0.0;
  Members<Worker> workers_;
  std::vector<double> speeds_;  // Known speeds, in worker order; holds all live without growing.
  std::uint32_t answers_ = 0;   // In this round.
  bool somebody_left_ = false;  // In this round.
};

}  // namespace outpace::policy
