// A runtime_model::Cutoff that computes when there is time. It learns from an iteration not at its
// end but at the next event, when the workers have been released. It forecasts the workers that
// were planned, and ignores others.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "policy/policy.h"
#include "runtime_model/cutoff.h"

namespace outpace::policy {

class DeferredCutoff {
 public:
  DeferredCutoff(std::unique_ptr<runtime_model::RuntimeModel> model,
                 runtime_model::Cutoff::Options options,
                 std::uint32_t workers);

  // Shows the model an iteration that has ended, if there is one, and begins the next.
  void think();

  // Takes in this iteration's observations. A runtime of 0, on a clock too coarse, says nothing.
  void observe(WorkerId worker, runtime_model::Observation seen);
  // A cold worker (warm_up.h) answered: its runtime says nothing. An iteration in which most
  // workers are cold does not count for the rate.
  void observe_cold() { ++cold_; }
  // A worker that was cut off in an iteration before has come after all, or has handed in a part,
  // which tells how long it takes.
  void correct(WorkerId worker, double seconds);
  // The worker begins `seconds` after the iteration began; 0: with it, although it may have been
  // busy then.
  void begin_late(WorkerId worker, double seconds);
  // The iteration ended with `count` gradients. Calls of take_part() for the next one follow, and
  // then think().
  void end(std::uint32_t count, double seconds);
  // The iteration that has ended took this share of a gradient besides, and this time. Before
  // think().
  void add_part(double share);
  void held(double seconds);
  // One that was told to stop, and has not done so yet, is expected to begin after `late` seconds;
  // one that was not has been busy with an older iteration for `busy` seconds.
  void take_part(WorkerId worker, double busy = 0.0, double late = 0.0);

  // As runtime_model::Cutoff.
  [[nodiscard]] std::optional<double> patience(double seconds,
                                               std::span<const std::uint32_t> out) const {
    return cutoff_.patience(seconds, out);
  }

  void keep(Archive& archive) {
    think();
    archive("cutoff", cutoff_)("seen", seen_);
  }

  [[nodiscard]] bool forecasts(WorkerId worker) const { return index(worker) < seen_.size(); }
  // As runtime_model::Cutoff. REQUIRES: after think().
  [[nodiscard]] runtime_model::Cutoff::Verdict look(double seconds,
                                                    std::uint32_t accepted,
                                                    std::span<const std::uint32_t> out) {
    return cutoff_.look(seconds, accepted, out);
  }
  // Whether this iteration has a forecast.
  [[nodiscard]] bool knows() const { return cutoff_.forecast() != nullptr; }
  // As runtime_model::Cutoff.
  void begin_anew() { cutoff_.begin_anew(); }
  [[nodiscard]] bool is_complete(std::uint32_t accepted, std::span<const std::uint32_t> out) const {
    return cutoff_.is_complete(accepted, out);
  }
  // What was expected of this iteration; a count of 0: nothing was.
  [[nodiscard]] std::uint32_t expected() const { return cutoff_.plan().count; }
  // As Policy::outlook().
  [[nodiscard]] bool outlook(Outlook& out) const;
  // Nothing: what was set before holds.
  void set_worth(const std::optional<runtime_model::Worth>& worth) {
    if (worth) {
      cutoff_.set_worth(*worth);
    }
  }

 private:
  struct Ended {
    std::uint32_t count;
    double seconds;
    bool typical;
    double parts = 0.0;  // Handed in; as a number of whole gradients.
    double held = 0.0;   // Seconds beyond the others.
  };

  runtime_model::Cutoff cutoff_;
  std::vector<runtime_model::Observation> seen_;         // In this iteration, by worker.
  std::vector<runtime_model::Observation> seen_before_;  // In the one that has ended.
  std::uint32_t warm_ = 0;                               // Workers observed in this iteration,
  std::uint32_t cold_ = 0;                               // and those that say nothing.
  std::optional<Ended> ended_;  // An iteration that the model has not been shown yet.
  std::vector<runtime_model::Cutoff::Participant> participants_;  // In the next iteration.
};

}  // namespace outpace::policy
