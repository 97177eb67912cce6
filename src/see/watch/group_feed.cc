#include "watch/group_feed.h"

#include <algorithm>
#include <utility>

namespace outpace::watch {
namespace {

constexpr Duration kLateMost = std::chrono::seconds(2);

}  // namespace

void GroupFeed::joined(Board& board, Time now, WorkerId worker) {
  live_.push_back(worker);
  board.decided(now,
                policy::WorkerJoined{worker},
                std::vector<policy::Action>{policy::Release{worker}},
                {.words = "all begin together"});
}

void GroupFeed::left(Board& board, Time now, WorkerId worker, policy::Departure how) {
  std::erase(live_, worker);
  std::erase_if(waiting_, [worker](const Report& one) { return one.worker == worker; });
  board.decided(now, policy::WorkerLeft{worker, how}, {}, {.words = "the others go on"});
}

void GroupFeed::reported(Board& board, Time now, const Report& report, std::uint64_t updates) {
  if (!together_) {
    version_ = updates - 1;
    accept(board, now, report, {policy::Commit{}, policy::Release{report.worker}});
    version_ = updates;
    return;
  }
  waiting_.push_back(report);
  if (updates > version_) {
    commit(board, now, updates);
  }
}

void GroupFeed::commit(Board& board, Time now, std::uint64_t updates) {
  const auto later =  // Clang 14 cannot compile the one of std::ranges.
      std::stable_partition(waiting_.begin(), waiting_.end(), [updates](const Report& one) {
        return one.number <= updates;
      });
  std::vector<Report> of_it(waiting_.begin(), later);
  waiting_.erase(waiting_.begin(), later);
  std::ranges::stable_sort(of_it, {}, &Report::runtime);
  for (std::size_t i = 0; i < of_it.size(); ++i) {
    std::vector<policy::Action> actions;
    const bool last = i + 1 == of_it.size();
    if (last) {
      for (; version_ < updates; ++version_) {
        actions.emplace_back(policy::Commit{});
      }
      for (const WorkerId worker : live_) {
        actions.emplace_back(policy::Release{worker});
      }
    }
    // All make the update when the last is done; what it took to add and to apply is the last's.
    const Time done = last ? now : begun_ + from_seconds(of_it[i].runtime);
    accept(board, std::min(done, now), of_it[i], std::move(actions));
  }
  begun_ = now;
}

void GroupFeed::accept(Board& board,
                       Time now,
                       const Report& report,
                       std::vector<policy::Action> actions) {
  const Sequence release{++releases_};
  actions.insert(actions.begin(), policy::Accept{report.worker, release, 1.0});
  board.decided(now,
                policy::GradientArrived{.worker = report.worker,
                                        .release = release,
                                        .computed_on = Version{board.sums().version},
                                        .examples = report.examples,
                                        .nominal = report.examples,
                                        .partial = false,
                                        .runtime = from_seconds(report.runtime)},
                actions,
                {.words = together_ ? "all of the ring make the update" : "each is an update"});
}

Time GroupFeed::told(Time now) const {
  return together_ ? std::max(begun_, now - kLateMost) : now;
}

}  // namespace outpace::watch
