// Which worker has which examples. Every example is used exactly once an epoch, even if gradients
// are dropped or workers die.
//
// An epoch's order is a permutation that workers compute for themselves; here it is only positions
// 0..examples-1. A position is in one of four places: not handed out, out with a worker, given
// back, or used. What was given back goes out first, to another worker than the one that lost it if
// one asks. Epochs overlap: with nothing left in one, the next begins, so that nobody waits at the
// seam; a limit on epochs makes take() return nothing at the end instead.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/prefetch.h"
#include "protocol/messages.h"

namespace outpace::server {

// The positions of one epoch that were used: a bit each, up to the last of them.
class UsedPositions {
 public:
  // Says how many of the positions had been used before. REQUIRES: begin < end.
  std::uint64_t add(std::uint64_t begin, std::uint64_t end);
  // Asks the processor for what is known of this position.
  void prepare(std::uint64_t position) const {
    if (position / 64 < words_.size()) {
      prefetch_line(&words_[position / 64]);
    }
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }

  void keep(Archive& archive) { archive("words", words_)("size", size_); }

 private:
  std::vector<std::uint64_t> words_;  // Position i is bit i % 64 of word i / 64.
  std::uint64_t size_ = 0;
};

class Leases {
 public:
  // `epochs` 0: no end. `fed`: only what feed() brings goes out. REQUIRES: examples >= 1.
  Leases(std::uint64_t examples, std::uint64_t epochs, bool fed = false);

  // Adds ranges of `wanted` examples in all to `out`; fewer only if the last epoch runs out.
  // `own`: also those that this worker itself gave back, if nothing else is left of the epoch.
  void take(WorkerId worker, std::uint64_t wanted, protocol::Ranges& out, bool own = true);
  // The examples of these ranges go out again, first, to another worker than `from` if one asks.
  void give_back(WorkerId from, const protocol::Ranges& ranges);
  // The examples of these ranges are in the weights.
  void use(const protocol::Ranges& ranges);

  // These alone go out from now on. Without any, nothing does, and nothing comes back. REQUIRES: it
  // is fed.
  void feed(const protocol::Ranges& ranges);
  // How many examples were given back and are not out again.
  [[nodiscard]] std::uint64_t left() const;

  // These ranges will be used soon: prefetches their state. Changes nothing.
  void prepare(const protocol::Ranges& ranges) const;

  // As if this many examples had been handed out, in order. REQUIRES: none was, and it is not fed.
  void skip(std::uint64_t examples);

  // `out`: what is with workers when it is written; it was given back, by nobody, when it is read.
  void keep(Archive& archive, const protocol::Ranges& out);

  // At least this many examples were never handed out, in this epoch and those to come.
  [[nodiscard]] bool fresh_left(std::uint64_t examples) const;
  // take() would return nothing.
  [[nodiscard]] bool empty() const;
  // take() would return nothing to this worker, without its own.
  [[nodiscard]] bool empty_for(WorkerId worker) const;
  // Every example of every epoch was used. Never with epochs == 0.
  [[nodiscard]] bool finished() const { return epochs_ != 0 && first_open_ == epochs_; }

  [[nodiscard]] std::uint64_t epochs_complete() const { return first_open_; }
  // Least and greatest number of uses of an example in a complete epoch; 0 and 0 before the first.
  [[nodiscard]] std::uint64_t used_min() const { return first_open_ == 0 ? 0 : 1; }
  [[nodiscard]] std::uint64_t used_max() const { return first_open_ == 0 ? 0 : used_max_; }

 private:
  struct GivenBack {
    std::uint64_t end = 0;
    WorkerId from{};

    void keep(Archive& archive) { archive("end", end)("from", from); }
  };
  using GivenBackMap = std::map<std::pair<std::uint64_t, std::uint64_t>, GivenBack>;

  // Takes from what was given back: by others than `worker` or, with `own`, by anybody.
  std::uint64_t take_given_back(WorkerId worker,
                                bool own,
                                std::uint64_t wanted,
                                protocol::Ranges& out);
  std::uint64_t take_fresh(std::uint64_t wanted, protocol::Ranges& out);
  [[nodiscard]] bool fresh_to_come() const;
  [[nodiscard]] bool fresh_left() const { return !fed_ && (epochs_ == 0 || epoch_ < epochs_); }
  [[nodiscard]] bool next_epoch_allowed() const { return epochs_ == 0 || epoch_ + 1 < epochs_; }

  // Constant after construction.
  std::uint64_t examples_;
  std::uint64_t epochs_;
  bool fed_;
  // State.
  std::uint64_t epoch_ = 0;  // Being handed out, from position_ on.
  std::uint64_t position_ = 0;
  bool open_ = true;         // False: it is fed nothing at present.
  GivenBackMap given_back_;  // (epoch, begin) -> rest: the oldest epoch goes out first.
  std::uint64_t first_open_ = 0;
  std::vector<UsedPositions> used_;  // For epochs first_open_, first_open_ + 1, ...
  std::uint64_t used_max_ = 1;
};

[[nodiscard]] inline std::uint64_t total_size(const protocol::Ranges& ranges) {
  if (ranges.size() == 1) {  // Nearly always; a loop takes its time to find out.
    return ranges.front().size();
  }
  std::uint64_t total = 0;
  for (const protocol::Range& range : ranges) {
    total += range.size();
  }
  return total;
}

// The first `examples` examples of the ranges, and the rest.
struct SplitRanges {
  protocol::Ranges head;
  protocol::Ranges tail;
};
[[nodiscard]] SplitRanges split_ranges(const protocol::Ranges& ranges, std::uint64_t examples);
// The same in place: appends the first to `head`, and leaves the rest.
void move_head(protocol::Ranges& ranges, std::uint64_t examples, protocol::Ranges& head);
// What is left of the ranges without those of `out`; nothing if one of these is not whole in them,
// or two overlap.
[[nodiscard]] std::optional<protocol::Ranges> take_out(protocol::Ranges ranges,
                                                       const protocol::Ranges& out);

}  // namespace outpace::server
