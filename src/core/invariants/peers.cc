#include "invariants/peers.h"

#include <algorithm>
#include <string>

#include "base/overloaded.h"
#include "invariants/violation.h"
#include "server/leases.h"
#include "worker/neighbour.h"

namespace outpace::invariants {
namespace {

std::string words(const SumId& sum) {
  return "the sum of version " + std::to_string(sum.version) + " in group " +
         std::to_string(sum.generation);
}

std::string words(std::uint32_t seeks, std::uint32_t answers) {
  return "the meeting that rank " + std::to_string(seeks) + " began with rank " +
         std::to_string(answers);
}

// Groups after which no message of an old one is on its way.
constexpr std::uint32_t kForgotten = 8;

}  // namespace

void Sums::term(const SumId& sum, WorkerId worker, const protocol::Ranges& own) {
  Sum& known = sums_[sum];
  hold(!known.complete && !known.terms.contains(worker), "I20", [&] {
    return name(worker) + " adds a second term to " + words(sum);
  });
  known.terms.emplace(worker, own);
}

void Sums::complete(const SumId& sum, const std::vector<WorkerId>& group) {
  Sum& known = sums_[sum];
  hold(std::set(group.begin(), group.end()).size() == group.size(), "I20", [&] {
    return words(sum) + ": its group has a worker twice";
  });
  for (const WorkerId worker : group) {
    hold(known.terms.contains(worker), "I20", [&] {
      return words(sum) + " is complete without " + name(worker);
    });
  }
  hold(known.terms.size() == group.size(), "I20", [&] {
    return words(sum) + " has a term of a worker that is not in its group";
  });
  known.complete = true;
}

void Sums::applied(const SumId& sum, WorkerId worker, std::uint64_t examples) {
  const auto known = sums_.find(sum);
  hold(known != sums_.end() && known->second.complete, "I20", [&] {
    return name(worker) + " applies " + words(sum) + ", which is not complete";
  });
  std::uint64_t& at = at_[worker];
  hold(sum.version == at + 1, "I20", [&] {
    return name(worker) + " applies " + words(sum) + " at version " + std::to_string(at);
  });
  at = sum.version;
  const auto made_of = made_of_.find(sum.version);
  if (made_of == made_of_.end()) {
    made_of_.emplace(sum.version, Made{.sum = sum, .by = {worker}});
    newest_ = std::max(newest_, sum.version);
    use(known->second, examples);
    // A worker may be one version behind, and then another.
    std::erase_if(sums_, [&](const auto& one) { return one.first.version + 2 < newest_; });
    std::erase_if(made_of_, [&](const auto& one) { return one.first + 2 < newest_; });
    return;
  }
  hold(made_of->second.sum == sum, "I20", [&] {
    return name(worker) + " applies " + words(sum) + ", and others " + words(made_of->second.sum);
  });
  made_of->second.by.insert(worker);
}

void Sums::lost(WorkerId worker) {
  at_.erase(worker);
  const auto newest = made_of_.find(newest_);
  if (newest == made_of_.end() || newest->second.by.erase(worker) == 0 ||
      !newest->second.by.empty()) {
    return;
  }
  for (const auto& [member, ranges] : sums_[newest->second.sum].terms) {
    for (const protocol::Range& range : ranges) {
      hold(used_.give_back(range), "I23", [&, member = member] {
        return "examples of " + name(member) + " are given back, and were not used";
      });
    }
  }
  made_of_.erase(newest);
  --newest_;
}

void Sums::use(const Sum& sum, std::uint64_t examples) {
  std::uint64_t terms = 0;
  for (const auto& [worker, ranges] : sum.terms) {
    terms += server::total_size(ranges);
    for (const protocol::Range& range : ranges) {
      hold(range.end <= examples_ && used_.take(range), "I23", [&, worker = worker] {
        return name(worker) + " uses examples " + std::to_string(range.begin) + " to " +
               std::to_string(range.end) + " of epoch " + std::to_string(range.epoch) +
               ", and one of them was used before";
      });
    }
  }
  hold(terms == examples, "I23", [&] {
    return "an update counts " + std::to_string(examples) + " examples, and its terms " +
           std::to_string(terms);
  });
}

void Sums::ended(std::uint64_t epochs) const {
  hold(epochs == 0 || used_.size() == epochs * examples_, "I23", [&] {
    return "the run ends with " + std::to_string(used_.size()) + " of " +
           std::to_string(epochs * examples_) + " examples used";
  });
}

void Meetings::acts(std::uint32_t generation, std::uint32_t rank, const peer::Action& action) {
  using peer::How;
  using peer::Say;
  std::visit(Overloaded{[&](const peer::Send& send) {
                          if (send.what == Say::kAsk || send.what == Say::kRequest ||
                              send.what == Say::kPushed || send.what == Say::kToCentre) {
                            begins(generation, rank, send.to);
                          } else if (send.what == Say::kReply) {  // It does not move.
                            moves(generation, send.to, rank, /*sought=*/false);
                          }
                        },
                        [&](const peer::Average& average) {
                          switch (average.how) {
                            case How::kCentreHere:
                              return;
                            case How::kTowards:
                            case How::kNothing:
                            case How::kWithCentre:
                              return moves(generation, rank, average.with, /*sought=*/true);
                            case How::kKeep:
                            case How::kCentre:
                              return moves(generation, average.with, rank, /*sought=*/false);
                            case How::kHalfway:
                              return worker::side_of(rank) == worker::Side::kAsks
                                         ? moves(generation, rank, average.with, /*sought=*/true)
                                         : moves(generation, average.with, rank, /*sought=*/false);
                          }
                        },
                        Ignoring<peer::Await, peer::Invited, peer::Skip>{}},
             action);
}

void Meetings::begins(std::uint32_t generation, std::uint32_t seeks, std::uint32_t answers) {
  std::erase_if(open_,
                [&](const Meeting& one) { return one.generation + kForgotten < generation; });
  for (const Meeting& one : open_) {
    hold(one.generation != generation || one.seeks != seeks || one.sought, "I21", [&] {
      return "rank " + std::to_string(seeks) + " begins a meeting with rank " +
             std::to_string(answers) + " in " + words(one.seeks, one.answers);
    });
  }
  open_.push_back({.generation = generation, .seeks = seeks, .answers = answers});
}

void Meetings::moves(std::uint32_t generation,
                     std::uint32_t seeks,
                     std::uint32_t answers,
                     bool sought) {
  const auto meeting = std::ranges::find_if(open_, [&](const Meeting& one) {
    return one.generation == generation && one.seeks == seeks && one.answers == answers &&
           !(sought ? one.sought : one.answered);
  });
  hold(meeting != open_.end(), "I21", [&] {
    return words(seeks, answers) + (sought ? " moves the first" : " moves the second") +
           " of them again, or there is none";
  });
  (sought ? meeting->sought : meeting->answered) = true;
  if (meeting->sought && meeting->answered) {
    open_.erase(meeting);
  }
}

}  // namespace outpace::invariants
