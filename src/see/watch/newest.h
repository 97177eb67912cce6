// The newest of many items, and how many there were in all.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace outpace::watch {

template <typename Item, std::size_t kMost>
class Newest {
 public:
  // One more, for the caller to write all of: its memory may be that of one that is dropped.
  Item& add() {
    ++added_;
    if (items_.size() < kMost) {
      return items_.emplace_back();
    }
    items_.push_back(std::move(items_.front()));
    items_.pop_front();
    return items_.back();
  }
  [[nodiscard]] const std::deque<Item>& items() const { return items_; }
  [[nodiscard]] std::uint64_t added() const { return added_; }

 private:
  std::deque<Item> items_;
  std::uint64_t added_ = 0;
};

}  // namespace outpace::watch
