// The policy under which the loss is expected to fall the soonest: chosen in the run, from what the
// run itself shows, and chosen anew as that changes.
//
//   runtimes       rows of the workers' last ones (pace_rows.h)
//   noise scale    of the gradients, from the server's norms (gradient_noise.h)
//   expected       progress a second of each candidate (progress.h)
//   measured       the same of the present one, from its updates, gradients and staleness
//   choice         auto_choice.h: staying is the rule
//
// Where transfers share a link, runtimes in rounds are others than where nobody waits, so that rows
// of the two kinds are kept apart; and a candidate without rounds is tried once to see them.
//
// It looks every kRowsBetween rows. Another policy takes over by the seam of a switch (switch.h),
// which costs nothing where a round has just ended. Candidates stand in auto_candidates.h; to
// invariants and records `auto` is a switch that has them as its phases.
//
// One candidate differs from another by balanced mini-batches alone (balanced.h). What these would
// make of the rows follows from the rows themselves (balanced_rows.h).
//
// The learning rate stays as it is: with the default rules an update of one gradient counts 1 / W,
// so that all candidates go as far as `sync` at the same rate.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/auto_candidates.h"
#include "policy/auto_choice.h"
#include "policy/balanced.h"
#include "policy/balanced_rows.h"
#include "policy/catalogue.h"
#include "policy/gradient_noise.h"
#include "policy/members.h"
#include "policy/pace_rows.h"
#include "policy/policy.h"
#include "policy/progress.h"
#include "policy/switch.h"
#include "policy/warm_up.h"

namespace outpace::policy {

class Auto final : public Policy {
 public:
  // As Switch's.
  Auto(std::uint32_t workers, const PolicyInputs& inputs);

  void decide(Time now, const Event& event, Decision& out) override;
  void prepare(WorkerId worker) const override { inside_.prepare(worker); }
  void keep(Archive& archive) override;

  [[nodiscard]] std::optional<std::string> take_warning() override;
  [[nodiscard]] std::uint32_t nominal_cutoff(std::uint32_t workers) const override {
    return inside_.nominal_cutoff(workers);
  }
  [[nodiscard]] bool asks_for_parts() const override { return inside_.asks_for_parts(); }
  [[nodiscard]] bool asks_for_norms() const override { return true; }
  [[nodiscard]] bool asks_for_training_loss() const override { return true; }
  [[nodiscard]] bool outlook(Outlook& out) const override { return inside_.outlook(out); }
  [[nodiscard]] bool expectations(Expectations& out) const override;

 private:
  static constexpr std::uint32_t kRowsBetween = 8;
  // A row without an answer of every worker ends after this many answers a worker.
  static constexpr std::uint64_t kAnswersOfRow = 8;

  struct Worker {
    bool computing = false;
    bool cut_off = false;  // It was longer than its row.
    std::uint64_t version = 0;
    Time released{};
    double share = 1.0;  // What the release asks for, in full mini-batches.
  };
  // What the present candidate made of the time since the last look.
  struct Window {
    Time begun{};
    double gradients = 0.0;  // That counted, in full mini-batches.
    double worth = 0.0;      // What updates of rounds are worth, in steps along exact gradients.
    double staleness = 0.0;  // The sum over gradients that counted,
    std::uint64_t stalest = 0;
    std::uint64_t counted = 0;  // and how many these are.
  };

  void hear(Time now, const Event& event);
  void arrive(const GradientArrived& gradient);
  // Takes in what was decided on `event`.
  void follow(Time now, const Event& event, Decision& out);
  void commit(Time now);
  void end_row(Time now);
  void begin_anew(Time now);
  void forget_paces();
  void take_over(Time now);
  void begin_window(Time now);
  // The noise scale in gradients; nothing before it is known.
  [[nodiscard]] std::optional<double> noise_scale() const;
  // The progress of updates of one gradient each at 1 / W of the rate, beside their estimate: less
  // than 1 where the optimizer scales each step by the gradients' root mean square, as adam. That
  // of one gradient is sqrt((1 + phi) / (1 + phi / W)) times that of the mean of W, so that W steps
  // of 1 / W of the rate go less far than one of the mean.
  [[nodiscard]] double share_of_lone(double phi) const;
  [[nodiscard]] double measured(const Window& past, Time now, double phi) const;
  [[nodiscard]] double expected(const AutoCandidate& candidate, const Paces& rows, double phi);
  // What the workers would take under candidates of the kind that does not run, in rounds or not:
  // what they took when it did, and as many times more as they take now under the present kind than
  // when that began. If it has not run, what they take now.
  [[nodiscard]] const Paces& paces_of_other_kind();
  void look(Time now, Decision& out);
  void change(Time now, const AutoChoice::Change& next, double phi, Decision& out);

  const BalanceOptions may_balance_;
  bool scale_invariant_;  // A script brings it only when its workers come.
  Balanced inside_;       // A Switch.
  AutoChoice choice_;
  std::optional<std::uint32_t> coming_;  // From the choice to the seam.
  bool in_rounds_ = true;  // Whether the present candidate's updates are of one version.
  GradientNoise noise_;
  std::optional<double> loss_;  // The training loss, heard last.
  WarmUp warm_up_;
  PaceRows rows_;
  Progress progress_;
  Members<Worker> workers_;
  std::uint64_t version_ = 0;
  std::uint32_t accepted_ = 0;  // Since the last commit.
  double in_update_ = 0.0;      // The same in full mini-batches.
  std::uint32_t last_count_ = 0;
  std::uint32_t nominal_ = 0;  // Examples of a full mini-batch; 0: not known yet.
  std::uint64_t answers_ = 0;  // In the open row.
  std::uint64_t next_look_ = kRowsBetween;
  Window window_;
  std::optional<std::string> news_;
  Paces paces_;                     // At the last look.
  Paces other_;                     // The last ones of the other kind; no workers: there are none.
  std::vector<float> first_paces_;  // Means of this kind's, at the first look since it began.
  Decision change_;                 // Used within a call; kept for its memory. So are these two.
  Paces now_of_other_;
  BalancedRows balanced_;
  std::vector<double> expected_;
};

}  // namespace outpace::policy
