#include "server/failed_examples.h"

#include <algorithm>

namespace outpace::server {
namespace {

// Adds the range, as one with the last if they meet.
void append(protocol::Ranges& out, const protocol::Range& range) {
  if (!out.empty() && out.back().epoch == range.epoch && out.back().end == range.begin) {
    out.back().end = range.end;
  } else {
    out.push_back(range);
  }
}

}  // namespace

bool FailedExamples::Tries::add(WorkerId worker, std::uint32_t live) {
  ++count;
  if (workers.size() < kTries &&
      std::find(workers.begin(), workers.end(), worker) == workers.end()) {
    workers.push_back(worker);
  }
  const bool many = workers.size() >= std::min(kTries, std::max(1U, live));
  return (count >= kTries && many) || count >= kTriesMost;
}

FailedExamples::Outcome FailedExamples::fail(WorkerId worker,
                                             const protocol::Ranges& ranges,
                                             std::uint32_t live) {
  Outcome outcome;
  for (const protocol::Range& range : ranges) {
    cut(range.epoch, range.begin);
    cut(range.epoch, range.end);
    for (std::uint64_t begin = range.begin; begin < range.end;) {
      const auto next = tries_.lower_bound({range.epoch, begin});
      const bool known = next != tries_.end() && next->first == Key{range.epoch, begin};
      std::uint64_t end = range.end;
      if (known) {
        end = next->second.end;
      } else if (next != tries_.end() && next->first.first == range.epoch) {
        end = std::min(end, next->first.second);
      }
      const protocol::Range part{range.epoch, begin, end};
      if (!known) {
        outcome.fresh = true;
        tries_.emplace(Key{range.epoch, begin}, Tries{.end = end}).first->second.add(worker, live);
        append(outcome.again, part);
      } else if (!next->second.add(worker, live)) {
        append(outcome.again, part);
      } else {
        tries_.erase(next);
        append(outcome.left_out, part);
      }
      begin = end;
    }
  }
  return outcome;
}

void FailedExamples::erase(const protocol::Ranges& ranges) {
  for (const protocol::Range& range : ranges) {
    cut(range.epoch, range.begin);
    cut(range.epoch, range.end);
    tries_.erase(tries_.lower_bound({range.epoch, range.begin}),
                 tries_.lower_bound({range.epoch, range.end}));
  }
}

void FailedExamples::cut(std::uint64_t epoch, std::uint64_t position) {
  auto after = tries_.lower_bound({epoch, position});
  if (after == tries_.begin()) {
    return;
  }
  const auto before = std::prev(after);
  if (before->first.first == epoch && before->second.end > position) {
    tries_.emplace_hint(after, Key{epoch, position}, before->second);
    before->second.end = position;
  }
}

}  // namespace outpace::server
