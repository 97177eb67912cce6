// How long to wait in each iteration: a runtime model, a rule, and the rate that the run has.
//
//   before    c* = argmax over c of  c / E[x_(c)]                  (Teng & Wood 2018, equation 1)
//   deadline  the count c or the deadline u that is best at the rate lambda:
//             E[arrivals by then] - lambda E[time until then]
//   during    asked again at every arrival and tick: runtime_model/stopping.h
//
// lambda is the run's own rate of gradients, sum(counts) / sum(seconds), of which the past counts
// ever less. Without a forecast, or without a rate, everybody is waited for. What an update is
// worth may be something else than its number of gradients (worth.h): then in all three its worth
// stands for c, and lambda is the rate of what the past's counts would be worth now. Where they
// would be worth nothing, only noise, everybody is waited for.
//
// Pure: the driver says what time it is, in seconds since the iteration began.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime_model/draws.h"
#include "runtime_model/runtime_model.h"
#include "runtime_model/stopping.h"
#include "runtime_model/worth.h"

namespace outpace::runtime_model {

enum class Decide : std::uint8_t { kBefore, kDeadline, kDuring };

class Cutoff {
 public:
  struct Options {
    Decide decide = Decide::kDuring;
    std::uint32_t least = 1;  // Gradients of an update, if so many can come.
    std::uint32_t most = UINT32_MAX;
  };

  // Without a model (null), `least` are waited for.
  Cutoff(std::unique_ptr<RuntimeModel> model, Options options);

  // A worker that takes part. One that still computes for an earlier iteration, since `busy`
  // seconds, begins when it is done with that: first the rest of that is expected, in the median.
  struct Participant {
    std::uint32_t worker;
    double busy = 0.0;
  };
  // An iteration begins. Forecasts and plans: does most of the work.
  void begin(std::span<const Participant> participants);
  // What updates are worth, from the next begin() on.
  void set_worth(const Worth& worth) { worth_ = worth; }
  // So many seconds into the iteration this worker begins, now and not with the others.
  void begin_late(std::uint32_t worker, double seconds);

  struct Verdict {
    bool stop = false;
    double again = 0.0;  // If not: ask again at the next arrival, and at this time at the latest.
  };
  // `seconds` into the iteration, when so many have arrived and these are still out. With none out
  // it stops. REQUIRES: arrived >= 1.
  [[nodiscard]] Verdict look(double seconds,
                             std::uint32_t arrived,
                             std::span<const std::uint32_t> out);

  // The iteration has ended after `seconds`, with `count` gradients; an observation for each
  // worker, of those that take no part kBusy.
  void end(std::span<const Observation> iteration, std::uint32_t count, double seconds);
  // One that was shown as longer has come after all.
  void correct(std::uint32_t worker, double seconds);

  // What was planned when the iteration began, for people: 0 gradients if there was no plan.
  struct Plan {
    std::uint32_t count = 0;
    double seconds = 0.0;  // Until then.
  };
  [[nodiscard]] const Plan& plan() const { return plan_; }
  // Of the past's updates, each for what it would be worth now: a second.
  [[nodiscard]] double rate() const;
  // Which model the forecast is from, where there are several; else nothing.
  [[nodiscard]] std::string believed() const { return model_ ? model_->believed() : ""; }
  // Null if there is none for this iteration.
  [[nodiscard]] const Forecast* forecast() const { return has_forecast_ ? &forecast_ : nullptr; }

 private:
  void plan_before();
  void plan_deadline();
  void plan_during();

  // Constant after construction.
  const std::unique_ptr<RuntimeModel> model_;
  const Options options_;
  // State.
  Forecast forecast_;
  bool has_forecast_ = false;
  Draws draws_;
  Stopping stopping_;
  Plan plan_;
  double deadline_ = 0.0;
  std::vector<std::uint32_t> taking_part_;
  std::map<std::uint32_t, std::vector<float>> undelayed_;  // Rows of the forecast.
  Worth worth_;
  double gradients_ = 0.0;  // Discounted, like the next.
  double seconds_ = 0.0;
  double updates_ = 0.0;
  double inverse_counts_ = 0.0;
  std::uint64_t iterations_ = 0;
};

}  // namespace outpace::runtime_model
