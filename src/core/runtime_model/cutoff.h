// How long to wait in each iteration, from a runtime model, a rule, and the run's own rate.
//
//   before    c* = argmax over c of  c / E[x_(c)]                  (Teng & Wood 2018, equation 1)
//   deadline  the count c or the deadline u that is best at the rate lambda:
//             E[arrivals by then] - lambda E[time until then]
//   during    decided again at every arrival and tick: runtime_model/stopping.h
//
// lambda is the run's rate of gradients, sum(counts) / sum(seconds), with exponentially decaying
// weights. Without a rate the update waits for everyone. While the model can say nothing yet it
// does so too, but from the moment when half have come for three times as long again at most; then
// nobody is sent away.
//
// Where workers that are cut off hand in a part that counts, lambda counts the parts, `during` is
// decided by runtime_model/phase_stopping.h, and as long as nothing is known half are waited for.
//
// An update may be worth something other than its number of gradients (worth.h). Then all three
// rules use its worth in place of c, and lambda is the rate of what the past counts would be worth
// now.
//
// Pure: the driver passes the time, in seconds since the iteration began.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/archive.h"
#include "runtime_model/draws.h"
#include "runtime_model/phase_stopping.h"
#include "runtime_model/runtime_model.h"
#include "runtime_model/stopping.h"
#include "runtime_model/worth.h"

namespace outpace::runtime_model {

enum class Decide : std::uint8_t { kBefore, kDeadline, kDuring };

class Cutoff {
 public:
  struct Options {
    Decide decide = Decide::kDuring;
    std::uint32_t least = 1;  // Fewest gradients of an update, if that many can come.
    std::uint32_t most = UINT32_MAX;
    // A worker that is cut off hands in a part, which counts; gradients are worth the same then.
    bool parts_count = false;
  };

  // Without a model (null), each update waits for `least` gradients.
  Cutoff(std::unique_ptr<RuntimeModel> model, Options options);

  // A worker that takes part in the iteration. One that has been computing for an earlier iteration
  // for `busy` seconds begins when that is done; its remaining time is expected to be the median of
  // what can remain. One that was told to stop is expected to begin after `late` seconds.
  struct Participant {
    std::uint32_t worker;
    double busy = 0.0;
    double late = 0.0;
  };
  // Begins an iteration: makes the forecast and the plan, which is most of the work.
  void begin(std::span<const Participant> participants);
  // Sets what updates are worth, from the next begin() on.
  void set_worth(const Worth& worth) { worth_ = worth; }
  // This worker begins `seconds` into the iteration instead of at its start, or, at 0 seconds, at
  // its start although it was expected later.
  void begin_late(std::uint32_t worker, double seconds);

  struct Verdict {
    bool stop = false;
    double again = 0.0;  // Seconds into the iteration. If not stop: ask again at the next arrival,
                         // and at this time at the latest.
    bool lets_finish = false;  // If stop: nothing was known, so those in `out` are not cut off.
  };
  // Decides whether to stop, `seconds` into the iteration, with `arrived` gradients and the workers
  // in `out` still computing. Stops if none is. REQUIRES: arrived >= 1.
  [[nodiscard]] Verdict look(double seconds,
                             std::uint32_t arrived,
                             std::span<const std::uint32_t> out);

  // The iteration begins anew, with other workers.
  void begin_anew() { half_at_.reset(); }
  // Whether it ends without a look, with `arrived` gradients and the workers in `out` computing.
  [[nodiscard]] bool is_complete(std::uint32_t arrived, std::span<const std::uint32_t> out) const {
    return out.empty() || arrived >= options_.most;
  }

  // Where parts count and something is known: for how long those of the workers in `out` are waited
  // for, in seconds. The run does twice as much meanwhile.
  [[nodiscard]] std::optional<double> patience(double seconds,
                                               std::span<const std::uint32_t> out) const;

  // Ends the iteration after `seconds` with `count` gradients, and with parts that are `parts`
  // gradients together. `iteration` has one observation per worker, kBusy for those that took no
  // part. Not `typical`: its length says nothing about the next ones, so the rate is left as it is.
  void end(std::span<const Observation> iteration,
           std::uint32_t count,
           double seconds,
           bool typical = true,
           double parts = 0.0);
  // A worker that was observed as kLonger has finished after all, after `seconds`.
  void correct(std::uint32_t worker, double seconds);

  // What was planned at the beginning of the iteration, for display; 0 gradients if there was no
  // plan.
  struct Plan {
    std::uint32_t count = 0;
    double seconds = 0.0;  // Expected time until then.
  };
  [[nodiscard]] const Plan& plan() const { return plan_; }
  // Worth per second of past updates, each valued as an update of its size would be now.
  [[nodiscard]] double rate() const;

  // All but the draws and the plan, which follow from the rest.
  void keep(Archive& archive);
  // The model that made the forecast, if several compete; otherwise empty.
  [[nodiscard]] std::string believed() const { return model_ ? model_->believed() : ""; }
  // Null if this iteration has no forecast.
  [[nodiscard]] const Forecast* forecast() const { return has_forecast_ ? &forecast_ : nullptr; }

 private:
  // A worker that began late, or was busy at the beginning.
  struct Late {
    std::vector<float> row;              // Its row of the forecast, as if it had begun in time.
    double seconds = 0.0;                // How late.
    std::optional<double> when_planned;  // `seconds`, as the plan knew it; nothing: it did not.

    void keep(Archive& archive) {
      archive("row", row)("seconds", seconds)("when_planned", when_planned);
    }
  };
  void delay(std::uint32_t worker, const Late& late, double seconds);
  // Where the model can say nothing yet.
  [[nodiscard]] Verdict look_unknowing(double seconds,
                                       std::uint32_t arrived,
                                       std::span<const std::uint32_t> out);
  void make_plan();
  void plan_before();
  void plan_deadline();
  void plan_during();
  void plan_phases();

  // Constant after construction.
  const std::unique_ptr<RuntimeModel> model_;
  const Options options_;
  // State.
  Forecast forecast_;
  bool has_forecast_ = false;
  Draws draws_;
  Stopping stopping_;
  PhaseStopping phase_stopping_;
  Plan plan_;
  double deadline_ = 0.0;
  std::vector<std::uint32_t> taking_part_;
  bool unknowing_ = false;              // The model can say nothing yet.
  std::optional<double> half_at_;       // Then: when half had come.
  std::map<std::uint32_t, Late> late_;  // By worker.
  Worth worth_;
  double seconds_ = 0.0;         // A decaying sum, like the next two.
  double parts_ = 0.0;           // Handed in; as a number of whole gradients.
  std::vector<double> updates_;  // By their number of gradients.
  std::uint64_t iterations_ = 0;
};

}  // namespace outpace::runtime_model
