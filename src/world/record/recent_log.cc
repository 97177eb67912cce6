#include "record/recent_log.h"

#include <algorithm>
#include <variant>

#include "record/decision_log.h"

namespace outpace::record {
namespace {

// Calls `with` with each of the newest decisions.
template <typename With>
void for_each_recent(const std::filesystem::path& decisions,
                     std::uint64_t bytes,
                     const With& with) {
  DecisionLogReader log(decisions);
  log.go_near_end(bytes);
  for (LoggedDecision logged; log.next(logged);) {
    with(logged);
  }
}

}  // namespace

policy::RecentDecisions::Parts recent_of_log(const std::filesystem::path& decisions,
                                             Version version,
                                             std::uint64_t bytes) {
  if (!std::filesystem::exists(decisions)) {
    return {};
  }
  std::uint64_t commits = 0;
  for_each_recent(decisions, bytes, [&commits](const LoggedDecision& logged) {
    commits += static_cast<std::uint64_t>(
        std::ranges::count_if(logged.actions, [](const policy::Action& action) {
          return std::holds_alternative<policy::Commit>(action);
        }));
  });
  policy::RecentDecisions recent(Version{count(version) - std::min(commits, count(version))});
  for_each_recent(decisions, bytes, [&recent](const LoggedDecision& logged) {
    recent.add(logged.now, logged.event, {.actions = logged.actions, .words = logged.reason});
  });
  return recent.keep();
}

}  // namespace outpace::record
