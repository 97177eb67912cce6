#include "server/leases.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/error.h"

namespace outpace::server {
namespace {

constexpr std::uint64_t kBits = 64;

// Sets the bits; says how many of them were set before.
std::uint64_t mark(std::uint64_t& word, std::uint64_t bits) {
  const std::uint64_t both = word & bits;
  word |= bits;
  // Hardly ever any, and counting them is dear.
  return both == 0 ? 0 : static_cast<std::uint64_t>(std::popcount(both));
}

}  // namespace

std::uint64_t UsedPositions::add(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first = begin / kBits;
  const std::uint64_t last = (end - 1) / kBits;
  if (words_.size() <= last) {
    words_.resize(last + 1);
  }
  const std::uint64_t from = ~std::uint64_t{0} << (begin % kBits);
  const std::uint64_t to = ~std::uint64_t{0} >> (kBits - 1 - (end - 1) % kBits);
  std::uint64_t overlap = 0;
  if (first == last) {  // Most mini-batches are small.
    overlap = mark(words_[first], from & to);
  } else {
    overlap = mark(words_[first], from);
    for (std::uint64_t word = first + 1; word < last; ++word) {
      overlap += mark(words_[word], ~std::uint64_t{0});
    }
    overlap += mark(words_[last], to);
  }
  size_ += end - begin - overlap;
  return overlap;
}

Leases::Leases(std::uint64_t examples, std::uint64_t epochs, bool fed)
    : examples_(examples), epochs_(epochs), fed_(fed) {
  CHECK(examples >= 1);
}

void Leases::take(WorkerId worker, std::uint64_t wanted, protocol::Ranges& out, bool own) {
  if (!given_back_.empty()) {
    wanted -= take_given_back(worker, /*own=*/false, wanted, out);
  }
  while (wanted > 0) {
    wanted -= take_fresh(wanted, out);
    if (wanted == 0) {
      return;
    }
    // The seam: the worker's own losses come before the next epoch, or it could lag for ever.
    wanted -= own ? take_given_back(worker, /*own=*/true, wanted, out) : 0;
    if (wanted == 0 || !fresh_left()) {
      return;
    }
    ++epoch_;
    position_ = 0;
    if (!fresh_left()) {
      return;
    }
  }
}

void Leases::skip(std::uint64_t examples) {
  CHECK(!fed_ && epoch_ == 0 && position_ == 0 && given_back_.empty());
  epoch_ = examples / examples_;
  position_ = examples % examples_;
  if (epochs_ != 0 && epoch_ >= epochs_) {
    epoch_ = epochs_ - 1;
    position_ = examples_;
  }
}

std::uint64_t Leases::take_given_back(WorkerId worker,
                                      bool own,
                                      std::uint64_t wanted,
                                      protocol::Ranges& out) {
  std::uint64_t taken = 0;
  for (auto next = given_back_.begin(); next != given_back_.end() && taken < wanted;) {
    if (!own && next->second.from == worker) {
      ++next;
      continue;
    }
    const auto [epoch, begin] = next->first;
    const std::uint64_t end = std::min(next->second.end, begin + wanted - taken);
    const GivenBack rest = next->second;
    out.push_back({epoch, begin, end});
    taken += end - begin;
    next = given_back_.erase(next);
    if (end < rest.end) {
      given_back_.emplace(std::pair{epoch, end}, rest);
    }
  }
  return taken;
}

std::uint64_t Leases::take_fresh(std::uint64_t wanted, protocol::Ranges& out) {
  if (!fresh_left() || position_ == examples_) {
    return 0;
  }
  std::uint64_t end = std::min(examples_, position_ + wanted);
  if (end + 1 == examples_ && wanted > 1 && !next_epoch_allowed()) {
    ++end;  // The run's last example does not go alone: batch normalisation refuses it.
  }
  const std::uint64_t taken = std::min(wanted, end - position_);
  out.push_back({epoch_, position_, end});
  position_ = end;
  return taken;
}

bool Leases::fresh_left(std::uint64_t examples) const {
  if (!fresh_left()) {
    return false;
  }
  if (epochs_ == 0) {
    return true;
  }
  const std::uint64_t here = examples_ - position_;
  const std::uint64_t later = epochs_ - epoch_ - 1;
  return here >= examples || later >= (examples - here + examples_ - 1) / examples_;
}

void Leases::give_back(WorkerId from, const protocol::Ranges& ranges) {
  if (!open_) {
    return;
  }
  for (const protocol::Range& range : ranges) {
    const bool fresh_key =
        given_back_.emplace(std::pair{range.epoch, range.begin}, GivenBack{range.end, from}).second;
    CHECK(fresh_key);
  }
}

void Leases::feed(const protocol::Ranges& ranges) {
  constexpr WorkerId kNobody{UINT32_MAX};
  CHECK(fed_);
  given_back_.clear();
  open_ = !ranges.empty();
  give_back(kNobody, ranges);
}

std::uint64_t Leases::left() const {
  std::uint64_t left = 0;
  for (const auto& [first, rest] : given_back_) {
    left += rest.end - first.second;
  }
  return left;
}

void Leases::use(const protocol::Ranges& ranges) {
  if (fed_) {  // Others use the rest of each epoch: it is never complete here.
    return;
  }
  for (const protocol::Range& range : ranges) {
    CHECK(range.epoch >= first_open_ && range.end <= examples_);
    const std::uint64_t open = range.epoch - first_open_;
    if (open >= used_.size()) {
      used_.resize(open + 1);
    }
    if (used_[open].add(range.begin, range.end) > 0) {
      used_max_ = std::max<std::uint64_t>(used_max_, 2);
    }
  }
  while (!used_.empty() && used_.front().size() == examples_) {
    used_.erase(used_.begin());
    ++first_open_;
  }
}

void Leases::keep(Archive& archive, const protocol::Ranges& out) {
  constexpr WorkerId kNobody{UINT32_MAX};
  std::uint64_t examples = examples_;
  GivenBackMap given_back = given_back_;
  for (const protocol::Range& range : out) {
    given_back.emplace(std::pair{range.epoch, range.begin}, GivenBack{range.end, kNobody});
  }
  archive("examples", examples)("epoch", epoch_)("position", position_);
  archive("given_back", given_back)("first_open", first_open_)("used", used_);
  archive("used_max", used_max_);
  if (!archive.reads()) {
    return;
  }
  const auto inside = [&](const auto& one) {
    return one.first.second < one.second.end && one.second.end <= examples_;
  };
  if (examples != examples_ || position_ > examples_ || !std::ranges::all_of(given_back, inside)) {
    throw Error(ExitCode::kUnreadable,
                "leases: of a data set of " + std::to_string(examples) +
                    " examples, this one has " + std::to_string(examples_));
  }
  given_back_ = std::move(given_back);
}

void Leases::prepare(const protocol::Ranges& ranges) const {
  if (ranges.empty()) {
    return;
  }
  const std::uint64_t open = ranges.front().epoch - first_open_;
  if (open < used_.size()) {
    used_[open].prepare(ranges.front().begin);
  }
}

bool Leases::fresh_to_come() const {
  return fresh_left() && (position_ < examples_ || next_epoch_allowed());
}

bool Leases::empty() const {
  return !fresh_to_come() && given_back_.empty();
}

bool Leases::empty_for(WorkerId worker) const {
  return !fresh_to_come() &&
         std::all_of(given_back_.begin(), given_back_.end(), [&](const auto& one) {
           return one.second.from == worker;
         });
}

void move_head(protocol::Ranges& ranges, std::uint64_t examples, protocol::Ranges& head) {
  if (ranges.size() == 1 && ranges.front().size() <= examples) {  // Nearly always.
    head.push_back(ranges.front());
    ranges.clear();
    return;
  }
  auto rest = ranges.begin();
  while (examples > 0 && rest != ranges.end()) {
    const std::uint64_t moved = std::min(examples, rest->size());
    head.push_back({rest->epoch, rest->begin, rest->begin + moved});
    examples -= moved;
    rest->begin += moved;
    if (rest->size() > 0) {
      break;
    }
    ++rest;
  }
  if (rest == ranges.end()) {  // Nearly always; erase() takes its time.
    ranges.clear();
  } else {
    ranges.erase(ranges.begin(), rest);
  }
}

std::optional<protocol::Ranges> take_out(protocol::Ranges ranges, const protocol::Ranges& out) {
  for (const protocol::Range& one : out) {
    const auto around = std::ranges::find_if(ranges, [&](const protocol::Range& range) {
      return range.epoch == one.epoch && range.begin <= one.begin && one.end <= range.end;
    });
    if (around == ranges.end()) {
      return std::nullopt;
    }
    const protocol::Range behind{around->epoch, one.end, around->end};
    around->end = one.begin;
    const auto next = around->size() == 0 ? ranges.erase(around) : around + 1;
    if (behind.size() > 0) {
      ranges.insert(next, behind);
    }
  }
  return ranges;
}

SplitRanges split_ranges(const protocol::Ranges& ranges, std::uint64_t examples) {
  SplitRanges split{.head = {}, .tail = ranges};
  move_head(split.tail, examples, split.head);
  return split;
}

}  // namespace outpace::server
