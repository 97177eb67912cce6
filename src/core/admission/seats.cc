#include "admission/seats.h"

#include <algorithm>

#include "base/check.h"

namespace outpace::admission {

Seats::Seats(std::uint32_t from, std::uint32_t to, const std::map<WorkerId, Pass>& owned)
    : from_(from), to_(to) {
  for (const auto& [worker, pass] : owned) {
    seats_[worker] = {.owner = pass, .came = true};
  }
}

std::vector<WorkerId> Seats::of(const Pass& pass) const {
  std::vector<WorkerId> found;
  for (const auto& [worker, seat] : seats_) {
    if (seat.owner == pass) {
      found.push_back(worker);
    }
  }
  return found;
}

std::optional<std::vector<WorkerId>> Seats::give(const Pass& pass,
                                                 std::uint32_t wanted,
                                                 const std::function<bool(WorkerId)>& taken) {
  CHECK(!pass.empty());
  std::vector<WorkerId> given = of(pass);
  // First numbers that nobody owns, and then those whose workers have left.
  for (const bool of_the_left : {false, true}) {
    for (std::uint32_t number = from_; number < to_ && given.size() < wanted; ++number) {
      const WorkerId worker{number};
      const auto seat = seats_.find(worker);
      const bool free =
          of_the_left ? seat != seats_.end() && seat->second.left : seat == seats_.end();
      const bool own = std::ranges::find(given, worker) != given.end();
      if (free && !own && !taken(worker)) {
        given.push_back(worker);
      }
    }
  }
  if (given.size() < wanted) {
    return std::nullopt;
  }
  given.resize(wanted);
  for (const WorkerId worker : given) {
    const bool before = owner(worker) == pass && seats_[worker].came;
    seats_[worker] = {.owner = pass, .came = before};
  }
  return given;
}

std::string Seats::why_not(const Pass& pass, WorkerId worker) const {
  const auto seat = seats_.find(worker);
  const bool owned = seat != seats_.end();
  if (pass.empty()) {
    return owned ? name(worker) +
                       " is a number of a machine that joined by the code; take another "
                       "--worker"
                 : "";
  }
  if (owned && seat->second.owner == pass) {
    return "";
  }
  return name(worker) + " is no number of this pass: `outpace join` gives the numbers";
}

void Seats::left(WorkerId worker) {
  if (const auto seat = seats_.find(worker); seat != seats_.end()) {
    seat->second.left = true;
  }
}

void Seats::here(WorkerId worker) {
  if (const auto seat = seats_.find(worker); seat != seats_.end()) {
    seat->second.left = false;
    seat->second.came = true;
  }
}

void Seats::gave_up(const Pass& pass) {
  std::erase_if(seats_,
                [&](const auto& one) { return one.second.owner == pass && !one.second.came; });
}

Seats::Pass Seats::owner(WorkerId worker) const {
  const auto seat = seats_.find(worker);
  return seat == seats_.end() ? "" : seat->second.owner;
}

Seats::Pass Seats::take_back(WorkerId worker) {
  Pass pass = owner(worker);
  std::erase_if(seats_, [&](const auto& one) { return one.second.owner == pass; });
  return pass;
}

}  // namespace outpace::admission
