#include "policy/switch_spec.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace outpace::policy {
namespace {

constexpr std::array<std::pair<std::string_view, Watched>, 5> kWatched{
    {{"loss", Watched::kTrainingLoss},
     {"test-loss", Watched::kTestLoss},
     {"test-accuracy", Watched::kTestAccuracy},
     {"updates", Watched::kUpdates},
     {"seconds", Watched::kSeconds}}};

// Takes a switch apart, word by word.
class SwitchReader {
 public:
  SwitchReader(const Spec& spec, std::string_view text) : spec_(spec) {
    for (const std::string_view word : split(text, ' ')) {
      if (!word.empty()) {
        words_.push_back(word);
      }
    }
  }

  std::vector<Phase> read() {
    std::vector<Phase> phases;
    while (true) {
      Phase& phase = phases.emplace_back(Phase{.policy = read_policy(), .until = {}});
      if (next_ == words_.size() && phases.size() > 1) {
        return phases;
      }
      expect("until");
      phase.until = read_condition();
      expect("then");
    }
  }

 private:
  Spec read_policy() {
    if (next_ == words_.size() || words_[next_] == "until" || words_[next_] == "then") {
      refuse("a policy is missing" + place());
    }
    const std::string_view word = words_[next_++];
    if (word == "switch" || word.starts_with("switch(") || word.starts_with("switch:")) {
      refuse("a switch within a switch; write one chain: A until ... then B until ... then C");
    }
    if (word == kAuto) {
      refuse("auto within a switch; it changes policies by itself, so write --policy auto");
    }
    return Spec::parse(word);
  }

  // All up to the next 'then': blanks around the sign say nothing.
  Condition read_condition() {
    std::string text;
    while (next_ < words_.size() && words_[next_] != "then") {
      text += words_[next_++];
    }
    const std::size_t sign = std::min(text.find_first_of("<>"), text.size());
    const auto* const found =
        std::find_if(kWatched.begin(), kWatched.end(), [&](const auto& watched) {
          return watched.first == std::string_view(text).substr(0, sign);
        });
    const std::string_view number = std::string_view(text).substr(std::min(sign + 1, text.size()));
    const auto duration = parse_duration(number);
    const bool time = found != kWatched.end() && found->second == Watched::kSeconds && duration;
    const auto bound = time ? std::optional(to_seconds(*duration)) : parse_number(number);
    if (found == kWatched.end() || !bound) {
      refuse("the condition '" + text +
             "' is not loss, test-loss, test-accuracy, updates or seconds, then < or >, then a "
             "number; write such as loss<0.6");
    }
    return {.what = found->second, .above = text[sign] == '>', .bound = *bound};
  }

  void expect(std::string_view word) {
    if (next_ == words_.size() || words_[next_] != word) {
      refuse("'" + std::string(word) + "' is missing" + place());
    }
    ++next_;
  }

  // Where the reader stands.
  [[nodiscard]] std::string place() const {
    return next_ == 0 ? "" : " after '" + std::string(words_[next_ - 1]) + "'";
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw usage_error("policy '" + spec_.text + "': " + why + "; the form is " + kSwitchForm);
  }

  const Spec& spec_;
  std::vector<std::string_view> words_;
  std::size_t next_ = 0;
};

bool waits_for_any(const Spec& policy, std::initializer_list<Watched> watched) {
  const std::vector<Phase> phases = phases_of(policy);
  return std::any_of(phases.begin(), phases.end(), [watched](const Phase& phase) {
    return phase.until &&
           std::find(watched.begin(), watched.end(), phase.until->what) != watched.end();
  });
}

}  // namespace

Phase candidate_phase(const AutoCandidate& candidate) {
  return {.policy = Spec::parse(candidate.policy), .until = {}, .balance = candidate.balance};
}

std::vector<Phase> phases_of(const Spec& policy) {
  if (policy.name != kAuto) {
    return chain_of(policy);
  }
  std::vector<Phase> phases;
  phases.reserve(kAutoCandidates.size());
  for (const AutoCandidate& candidate : kAutoCandidates) {
    phases.push_back(candidate_phase(candidate));
  }
  return phases;
}

std::vector<Phase> chain_of(const Spec& policy) {
  if (policy.name != "switch") {
    return {Phase{.policy = policy, .until = {}}};
  }
  SpecReader options("policy", policy);
  const std::string text = options.text("until", kSwitchForm);
  options.finish();
  return SwitchReader(policy, text).read();
}

bool waits_for_learning(const Spec& policy) {
  return policy.name == kAuto ||
         waits_for_any(policy,
                       {Watched::kTrainingLoss, Watched::kTestLoss, Watched::kTestAccuracy});
}

bool waits_for_evaluator(const Spec& policy) {
  return waits_for_any(policy, {Watched::kTestLoss, Watched::kTestAccuracy});
}

bool waits_for_test_loss(const Spec& policy) {
  const std::pair<std::string, std::string> by_test_loss{"loss", "test"};
  const std::vector<Phase> phases = phases_of(policy);
  return waits_for_any(policy, {Watched::kTestLoss}) ||
         std::any_of(phases.begin(), phases.end(), [&](const Phase& phase) {
           const auto& options = phase.policy.options;
           return phase.policy.name == "adasync" &&
                  std::find(options.begin(), options.end(), by_test_loss) != options.end();
         });
}

}  // namespace outpace::policy
