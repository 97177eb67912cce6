// Which of several policies to run: the one that should make the most progress, unless it is hardly
// better than the present one.
//
// The estimate of the policy that runs is checked against what is measured of it, and corrected by
// their ratio from then on; each keeps its correction while others run. So one that promised more
// than it keeps is left again. What is measured at its first look says nothing: workers were cold,
// or their runtimes were not known.
//
// One that was never seen may be tried once, for kTrialLooks, when the present one has been the
// best for kQuiet looks and hardly more is expected of it. It stays if it turns out to be better.
//
// Staying is the rule: another policy is taken once it was the best, and by kBetter better than the
// present one, in kLooks looks in a row. The noise scale goes into all estimates, and errs by tens
// of percent, but for all of them alike. What else is doubtful of a candidate is its `doubt`:
// it counts as if that many times less were expected of it.
//
// One under which the training loss rises above kDiverges times what it was at the change is left
// at once, and never taken again.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/archive.h"

namespace outpace::policy {

class AutoChoice {
 public:
  static constexpr double kBetter = 1.1;
  static constexpr std::uint32_t kLooks = 3;
  static constexpr double kDiverges = 1.5;
  static constexpr std::uint32_t kQuiet = 6;
  static constexpr std::uint32_t kTrialLooks = 4;
  static constexpr double kWorthATrial = 0.9;  // Expected beside the present one.

  struct Option {
    double doubt = 1.0;  // At least 1.
    bool tried = false;  // It is tried once, as above.
    bool left_out = false;
  };
  // The first candidate runs at the beginning.
  explicit AutoChoice(std::vector<Option> options);

  struct Look {
    std::span<const double> expected;  // Progress a second of each candidate; all positive.
    std::optional<double> measured;    // That of the present one since the last look.
    std::optional<double> loss;        // The training loss.
  };
  enum class Cause : std::uint8_t { kBetter, kTrial, kLossRose };
  struct Change {
    std::uint32_t to;
    Cause cause;
    bool operator==(const Change&) const = default;
  };
  // Nothing to go on with the present one. REQUIRES: no change is under way.
  [[nodiscard]] std::optional<Change> look(const Look& look);
  // The candidate runs from now on, with this training loss.
  void begin(std::uint32_t candidate, std::optional<double> loss);

  // What was better is to be so in kLooks looks from here on.
  void forget_looks();

  [[nodiscard]] std::uint32_t present() const { return present_; }

  struct Candidate {
    double expected = 0.0;    // At the last look, corrected; 0: there was none.
    double correction = 1.0;  // Measured by expected, while it ran.
    double sum = 0.0;         // The sum of `expected` over all looks.
    double measured = 0.0;    // The sum over the looks at which it was measured,
    std::uint32_t looks = 0;  // and how many these are.
    bool barred = false;
    bool seen = false;  // It has run.

    void keep(Archive& archive) {
      archive("expected", expected)("correction", correction)("sum", sum)("measured", measured)(
          "looks", looks)("barred", barred)("seen", seen);
    }
  };
  [[nodiscard]] std::span<const Candidate> candidates() const { return candidates_; }
  // Expected of it at the last look, less the doubt.
  [[nodiscard]] double sure(std::uint32_t candidate) const {
    return candidates_[candidate].expected / options_[candidate].doubt;
  }
  // It is no candidate here.
  [[nodiscard]] bool leaves_out(std::uint32_t candidate) const {
    return options_[candidate].left_out;
  }
  [[nodiscard]] std::uint32_t looks() const { return looks_; }
  // The mean over all looks of how much less progress was expected of the present candidate than of
  // the best one, as a share of the best, both less their doubt.
  [[nodiscard]] double regret() const { return looks_ == 0 ? 0.0 : regret_ / looks_; }

  void keep(Archive& archive);

 private:
  static constexpr double kNewest = 0.25;  // The weight of the newest measurement in a correction.

  // The corrections, then what is expected.
  void expect(const Look& look);
  void correct(const Look& look);
  [[nodiscard]] std::uint32_t best() const;
  [[nodiscard]] std::optional<Change> judge_trial();
  [[nodiscard]] std::optional<Change> worth_a_trial();
  [[nodiscard]] bool diverges(const Look& look) const;

  std::vector<Option> options_;
  std::vector<Candidate> candidates_;
  std::uint32_t present_ = 0;
  std::uint32_t looks_at_present_ = 0;
  std::optional<std::uint32_t> better_;  // The best at the last looks,
  std::uint32_t times_ = 0;              // how many.
  std::uint32_t quiet_ = 0;              // Looks at which none was better.
  std::optional<std::uint32_t> tried_from_;
  std::optional<double> loss_at_begin_;
  std::uint32_t looks_ = 0;
  double regret_ = 0.0;
};

}  // namespace outpace::policy
