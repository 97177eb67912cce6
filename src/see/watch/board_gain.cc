// The board's other half: what the run gains by not waiting.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/spec.h"
#include "policy/switch_spec.h"
#include "watch/board.h"

namespace outpace::watch {

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
  return about_.stragglers == policy::Stragglers::kCutOff ? updates_.without() : std::nullopt;
}

std::optional<double> Board::gain() const {
  if (about_.stragglers == policy::Stragglers::kAwaited || !updates_.enough()) {
    return std::nullopt;
  }
  const double all = seconds_for_all();
  if (all <= 0.0 || (about_.stragglers == policy::Stragglers::kCutOff && updates_.with_all(now_))) {
    return std::nullopt;
  }
  const std::optional<double> rate = updates_.rate_of_updates(now_);
  double nominal = 0.0;
  for (const WorkerView& one : workers_) {
    nominal += one.live ? nominal_of(one) : 0.0;
  }
  if (!rate || nominal <= 0.0) {
    return std::nullopt;
  }
  const double gained = *rate * all / nominal;
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
    return seconds_for_all() > 0.0 && updates_.enough() ? words : "";
  }
  if (about_.stragglers == policy::Stragglers::kGoOn) {
    words = "nobody waits";
  }
  return words + fmt::format("{}{}{:.1f}x waiting for all",
                             words.empty() ? "" : "; ",
                             any_longer() ? "at least " : "",
                             *gained);
}

std::string Board::follow_policy(const std::string& chain, std::size_t phase) {
  const std::vector<policy::Phase> phases = policy::phases_of(Spec::parse(chain));
  if (phase >= phases.size()) {
    return chain;
  }
  about_.stragglers = policy::stragglers_of(phases[phase].policy);
  return phases[phase].words();
}

}  // namespace outpace::watch
