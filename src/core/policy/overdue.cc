#include "policy/overdue.h"

#include <algorithm>

#include "base/check.h"

namespace outpace::policy {

void Overdue::join(WorkerId worker) {
  workers_.resize(std::max(workers_.size(), index(worker) + 1));
}

void Overdue::released(WorkerId worker, std::uint64_t version) {
  ended(worker);
  const auto id = static_cast<std::uint32_t>(index(worker));
  CHECK(last_ == kNobody || workers_[last_].version <= version);
  workers_[id] = {.version = version, .listed = true, .before = last_, .after = kNobody};
  (last_ == kNobody ? first_ : workers_[last_].after) = id;
  last_ = id;
}

void Overdue::ended(WorkerId worker) {
  Worker& one = workers_[index(worker)];
  if (!one.listed) {
    return;
  }
  (one.before == kNobody ? first_ : workers_[one.before].after) = one.after;
  (one.after == kNobody ? last_ : workers_[one.after].before) = one.before;
  one.listed = false;
}

std::optional<WorkerId> Overdue::next(std::uint64_t version, std::uint64_t bound) {
  if (first_ == kNobody || version - workers_[first_].version <= bound) {
    return std::nullopt;
  }
  const WorkerId found{first_};
  ended(found);
  return found;
}

}  // namespace outpace::policy
