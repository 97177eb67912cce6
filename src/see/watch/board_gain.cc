// The board's other half: the recent rate of the run, and what it gains by not waiting.

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/spec.h"
#include "policy/switch_spec.h"
#include "watch/board.h"

namespace outpace::watch {
namespace {

constexpr double kRecent = 5.0;          // Seconds that the gain looks back, where that is enough.
constexpr std::size_t kRecentLeast = 8;  // Updates that it looks back at least.

}  // namespace

double median(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

bool WorkerView::longer() const {
  constexpr std::size_t kEnough = 3;
  if (whole.size() < kEnough) {
    return cut.size() > whole.size();
  }
  if (cut_in_a_row < kEnough) {
    return false;
  }
  const std::vector<float> cuts = cut.all();
  return median(whole.all()) <= static_cast<double>(*std::ranges::max_element(cuts));
}

double Board::seconds_for_all() const {
  std::vector<std::vector<float>> samples;
  std::size_t rounds = 0;
  for (const WorkerView& one : workers_) {
    if (one.live) {
      samples.push_back(one.sample());
      if (samples.back().empty()) {
        return 0.0;
      }
      rounds = std::max(rounds, samples.back().size());
    }
  }
  double sum = 0.0;
  for (std::size_t round = 0; round < rounds; ++round) {
    float most = 0.0F;
    for (const std::vector<float>& sample : samples) {
      most = std::max(most, sample[round % sample.size()]);
    }
    sum += static_cast<double>(most);
  }
  return rounds == 0 ? 0.0 : sum / static_cast<double>(rounds);
}

std::optional<std::uint32_t> Board::cut_off() const {
  if (about_.stragglers != policy::Stragglers::kCutOff || updates_.size() < 2) {
    return std::nullopt;
  }
  const std::size_t looked = std::min<std::size_t>(updates_.size(), 20);
  double without = 0.0;
  for (std::size_t i = updates_.size() - looked; i < updates_.size(); ++i) {
    const Update& update = updates_[i];
    without += update.live > update.gradients ? update.live - update.gradients : 0U;
  }
  return static_cast<std::uint32_t>(std::lround(without / static_cast<double>(looked)));
}

std::size_t Board::first_recent() const {
  std::size_t first = updates_.size() - std::min(updates_.size(), kRecentLeast);
  while (first > 0 && to_seconds(now_ - updates_[first - 1].at) < kRecent) {
    --first;
  }
  return first;
}

std::optional<double> Board::rate() const {
  if (updates_.size() < 2) {
    return std::nullopt;
  }
  const Update& from = updates_[first_recent()];
  return static_cast<double>(updates_.back().applied - from.applied) / to_seconds(now_ - from.at);
}

std::optional<double> Board::update_seconds() const {
  if (updates_.size() < 2) {
    return std::nullopt;
  }
  const std::size_t first = first_recent();
  return to_seconds(updates_.back().at - updates_[first].at) /
         static_cast<double>(updates_.size() - 1 - first);
}

std::optional<double> Board::gain() const {
  if (about_.stragglers == policy::Stragglers::kAwaited || updates_.size() < kRecentLeast) {
    return std::nullopt;
  }
  const double all = seconds_for_all();
  const bool all_take_part =
      about_.stragglers == policy::Stragglers::kCutOff &&
      std::all_of(updates_.begin() + static_cast<std::ptrdiff_t>(first_recent()),
                  updates_.end(),
                  [](const Update& update) { return update.gradients >= update.live; });
  if (all <= 0.0 || all_take_part) {
    return std::nullopt;
  }
  const Update& from = updates_[first_recent()];
  const Update& until = updates_.back();
  const double seconds = to_seconds(until.at - from.at);
  double nominal = 0.0;
  for (const WorkerView& one : workers_) {
    nominal += one.live ? nominal_of(one) : 0.0;
  }
  if (seconds <= 0.0 || nominal <= 0.0) {
    return std::nullopt;
  }
  const double gained = static_cast<double>(until.applied - from.applied) / seconds * all / nominal;
  const bool says_nothing = gained < 1.0 && any_longer();
  return says_nothing ? std::nullopt : std::optional(gained);
}

bool Board::any_longer() const {
  return std::ranges::any_of(workers_,
                             [](const WorkerView& one) { return one.live && one.longer(); });
}

std::string Board::gain_in_words() const {
  std::string words;
  if (const auto without = cut_off()) {
    words = fmt::format("{} of {} cut off now", *without, sums_.live);
  }
  const auto gained = gain();
  if (!gained) {
    return seconds_for_all() > 0.0 && updates_.size() >= kRecentLeast ? words : "";
  }
  if (about_.stragglers == policy::Stragglers::kGoOn) {
    words = "nobody waits";
  }
  return words + fmt::format("{}{}{:.1f}x waiting for all",
                             words.empty() ? "" : "; ",
                             any_longer() ? "at least " : "",
                             *gained);
}

void Board::follow_policy(const std::string& chain, std::size_t phase) {
  const std::vector<policy::Phase> phases = policy::phases_of(Spec::parse(chain));
  if (phase < phases.size()) {
    about_.stragglers = policy::stragglers_of(phases[phase].policy);
  }
}

}  // namespace outpace::watch
