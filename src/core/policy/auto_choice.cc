#include "policy/auto_choice.h"

#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace outpace::policy {

AutoChoice::AutoChoice(std::vector<Option> options)
    : options_(std::move(options)), candidates_(options_.size()) {
  CHECK(!options_.empty());
  candidates_.front().seen = true;
}

std::optional<AutoChoice::Change> AutoChoice::look(const Look& look) {
  CHECK(look.expected.size() == candidates_.size());
  expect(look);
  const std::uint32_t best = this->best();
  ++looks_;
  regret_ += 1.0 - sure(present_) / sure(best);
  if (diverges(look)) {
    candidates_[present_].barred = true;
    return Change{std::exchange(tried_from_, std::nullopt).value_or(0), Cause::kLossRose};
  }
  if (tried_from_) {
    return judge_trial();
  }
  if (sure(best) < kBetter * sure(present_)) {
    better_ = std::nullopt;
    times_ = 0;
    ++quiet_;
    return worth_a_trial();
  }
  quiet_ = 0;
  times_ = better_ == best ? times_ + 1 : 1;
  better_ = best;
  return times_ >= kLooks ? std::optional(Change{best, Cause::kBetter}) : std::nullopt;
}

void AutoChoice::expect(const Look& look) {
  ++looks_at_present_;
  correct(look);
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    candidate.expected = look.expected[i] * candidate.correction;
    candidate.sum += candidate.expected;
  }
}

void AutoChoice::correct(const Look& look) {
  Candidate& present = candidates_[present_];
  if (looks_at_present_ == 1 || !look.measured || *look.measured <= 0.0) {
    return;
  }
  const double ratio = *look.measured / look.expected[present_];
  present.correction += (present.looks == 0 ? 1.0 : kNewest) * (ratio - present.correction);
  present.measured += *look.measured;
  ++present.looks;
}

std::uint32_t AutoChoice::best() const {
  std::uint32_t best = present_;
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    if (!candidates_[i].barred && !options_[i].left_out && sure(i) > sure(best)) {
      best = i;
    }
  }
  return best;
}

std::optional<AutoChoice::Change> AutoChoice::judge_trial() {
  if (looks_at_present_ < kTrialLooks) {
    return std::nullopt;
  }
  const std::uint32_t from = *std::exchange(tried_from_, std::nullopt);
  return sure(present_) > sure(from) ? std::nullopt : std::optional(Change{from, Cause::kBetter});
}

std::optional<AutoChoice::Change> AutoChoice::worth_a_trial() {
  for (std::uint32_t i = 0; quiet_ >= kQuiet && i < candidates_.size(); ++i) {
    const Candidate& candidate = candidates_[i];
    if (options_[i].tried && !options_[i].left_out && !candidate.seen &&
        candidate.expected >= kWorthATrial * candidates_[present_].expected) {
      tried_from_ = present_;
      return Change{i, Cause::kTrial};
    }
  }
  return std::nullopt;
}

bool AutoChoice::diverges(const Look& look) const {
  return present_ != 0 && look.loss && loss_at_begin_ &&
         !(*look.loss <= kDiverges * *loss_at_begin_);
}

void AutoChoice::begin(std::uint32_t candidate, std::optional<double> loss) {
  present_ = candidate;
  candidates_[candidate].seen = true;
  forget_looks();
  loss_at_begin_ = loss;
}

void AutoChoice::forget_looks() {
  looks_at_present_ = 0;
  better_ = std::nullopt;
  times_ = 0;
  quiet_ = 0;
}

void AutoChoice::keep(Archive& archive) {
  std::vector<Candidate> candidates = candidates_;
  archive("candidates", candidates)("present", present_)("loss_at_begin", loss_at_begin_);
  archive("tried_from", tried_from_);
  archive("looks", looks_)("regret", regret_);
  if (!archive.reads()) {
    return;
  }
  if (candidates.size() != candidates_.size() || present_ >= candidates_.size() ||
      tried_from_.value_or(0) >= candidates_.size()) {
    throw Error(ExitCode::kUnreadable, "state 'candidates': not those of this policy");
  }
  candidates_ = std::move(candidates);
  forget_looks();
}

}  // namespace outpace::policy
