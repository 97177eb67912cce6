#include "watch/decision_text.h"

#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/overloaded.h"
#include "policy/words.h"

namespace outpace::watch {
namespace {

// "worker 3", "workers 0, 3 and 5", "9 workers".
std::string names(const std::vector<std::size_t>& workers) {
  constexpr std::size_t kNamed = 6;
  if (workers.size() > kNamed) {
    return fmt::format("{} workers", workers.size());
  }
  std::string text = workers.size() == 1 ? "worker " : "workers ";
  for (std::size_t i = 0; i < workers.size(); ++i) {
    text += i == 0 ? "" : i + 1 == workers.size() ? " and " : ", ";
    text += std::to_string(workers[i]);
  }
  return text;
}

struct Clause {
  std::string verb;
  std::vector<std::size_t> workers;
};

}  // namespace

std::string in_words(const policy::Event& event) {
  return std::visit(
      Overloaded{
          [](const policy::WorkerJoined& joined) {
            return fmt::format("worker {} joins", index(joined.worker));
          },
          [](const policy::WorkerLeft& left) {
            return fmt::format(
                "worker {} leaves: {}", index(left.worker), text_of(policy::kDepartures, left.how));
          },
          [](const policy::GradientArrived& gradient) {
            return fmt::format("{}gradient of worker {} ({:.3g} s)",
                               gradient.partial ? "partial " : "",
                               index(gradient.worker),
                               to_seconds(gradient.runtime));
          },
          [](const policy::ReleaseEnded& ended) {
            return fmt::format("mini-batch of worker {} is {}",
                               index(ended.worker),
                               text_of(policy::kEndings, ended.how));
          },
          [](const policy::TimerFired& /*fired*/) { return std::string("timer"); },
          [](const policy::Measured& measured) {
            std::string what(text_of(policy::kMeasures, measured.what));
            for (char& letter : what) {
              letter = letter == '_' ? ' ' : letter;
            }
            return fmt::format("{} is {:.4g}", what, measured.value);
          },
          [](const policy::PolicySet& set) { return fmt::format("policy set to {}", set.policy); }},
      event);
}

std::string in_words(std::span<const policy::Action> actions) {
  std::vector<Clause> clauses;
  const auto add = [&clauses](const std::string& verb, WorkerId worker) {
    if (clauses.empty() || clauses.back().verb != verb) {
      clauses.push_back({.verb = verb, .workers = {}});
    }
    clauses.back().workers.push_back(index(worker));
  };
  for (const policy::Action& action : actions) {
    std::visit(
        Overloaded{
            [&](const policy::Accept& one) { add("accept ", one.worker); },
            [&](const policy::Drop& one) { add("drop (" + to_words(one.why) + ") ", one.worker); },
            [&](const policy::Commit&) { clauses.push_back({.verb = "commit", .workers = {}}); },
            [&](const policy::Release& one) { add("release ", one.worker); },
            [&](const policy::Cancel& one) {
              add(one.keep_part ? "ask for the part of " : "cancel ", one.worker);
            },
            [](const policy::WakeAt&) {},
            [&](const policy::Switched&) {
              clauses.push_back({.verb = "switch the policy", .workers = {}});
            }},
        action);
  }
  std::string text;
  for (const Clause& clause : clauses) {
    text += (text.empty() ? "" : ", ") + clause.verb +
            (clause.workers.empty() ? "" : names(clause.workers));
  }
  return text;
}

}  // namespace outpace::watch
