#include "wire/kept_numbers.h"

#include <algorithm>
#include <utility>

namespace outpace::wire {
namespace {

constexpr std::size_t kFreeMax = 2;

}  // namespace

std::shared_ptr<KeptNumbers::Block> KeptNumbers::find(std::uint64_t count, bool unheld) {
  std::vector<std::shared_ptr<Block>> others;  // Freed without the lock.
  const std::lock_guard lock(mutex_);
  const auto rest = std::stable_partition(
      free_.begin(), free_.end(), [&](const auto& free) { return free->size() == count; });
  others.assign(std::make_move_iterator(rest), std::make_move_iterator(free_.end()));
  free_.erase(rest, free_.end());
  const auto found = std::find_if(free_.rbegin(), free_.rend(), [&](const auto& free) {
    return !unheld || free.use_count() == 1;
  });
  if (found == free_.rend()) {
    return nullptr;
  }
  std::shared_ptr<Block> block = std::move(*found);
  free_.erase(std::next(found).base());
  return block;
}

KeptNumbers::Block KeptNumbers::take(std::uint64_t count) {
  Block block;
  if (const std::shared_ptr<Block> found = find(count, /*unheld=*/true)) {
    block = std::move(*found);
  } else {
    block.reserve(count);
  }
  return block;
}

std::shared_ptr<KeptNumbers::Block> KeptNumbers::borrow(std::uint64_t count) {
  std::shared_ptr<Block> found = find(count, /*unheld=*/false);
  return found ? lend(std::move(found)) : lend(take(count));
}

std::shared_ptr<KeptNumbers::Block> KeptNumbers::lend(Block block) {
  return lend(std::make_shared<Block>(std::move(block)));
}

std::shared_ptr<KeptNumbers::Block> KeptNumbers::lend(std::shared_ptr<Block> own) {
  Block* const numbers = own.get();
  return {numbers, Return{.to = weak_from_this(), .block = std::move(own)}};
}

std::shared_ptr<const void> KeptNumbers::memory_of(const std::shared_ptr<Block>& lent) {
  const auto* const back = std::get_deleter<Return>(lent);
  return back == nullptr ? lent : back->block;
}

KeptNumbers::Block KeptNumbers::move_away(std::shared_ptr<Block> lent) {
  const auto* const back = std::get_deleter<Return>(lent);
  const bool alone = lent.use_count() == 1 && (back == nullptr || back->block.use_count() == 1);
  return alone ? std::move(*lent) : *lent;
}

void KeptNumbers::Return::operator()(Block* /*block*/) {
  if (const std::shared_ptr<KeptNumbers> kept = to.lock()) {
    kept->give_back(std::move(block));
  }
}

void KeptNumbers::give_back(std::shared_ptr<Block> block) {
  std::shared_ptr<Block> oldest;  // Freed without the lock.
  const std::lock_guard lock(mutex_);
  if (block->empty()) {
    return;  // It was moved away.
  }
  if (free_.size() == kFreeMax) {
    oldest = std::exchange(free_.front(), nullptr);
    free_.erase(free_.begin());
  }
  free_.push_back(std::move(block));
}

}  // namespace outpace::wire
