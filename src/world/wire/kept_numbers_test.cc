#include "wire/kept_numbers.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/codec.h"
#include "wire/record_reader.h"

namespace outpace::wire {
namespace {

std::shared_ptr<KeptNumbers::Block> borrow_full(KeptNumbers& kept, std::uint64_t count) {
  auto block = kept.borrow(count);
  block->resize(count);
  return block;
}

TEST(KeptNumbers, ABlockComesBackWithItsNumbers) {
  const auto kept = std::make_shared<KeptNumbers>();
  EXPECT_TRUE(kept->borrow(3)->empty()) << "nothing is cleared that will be overwritten";
  auto first = borrow_full(*kept, 3);
  const float* const place = first->data();
  *first = {1, 2, 3};
  first.reset();
  const auto second = kept->borrow(3);
  EXPECT_EQ(second->data(), place);
  EXPECT_EQ(*second, (std::vector<float>{1, 2, 3}));
}

TEST(KeptNumbers, WhatACallerLendsIsKeptAndTaken) {
  const auto kept = std::make_shared<KeptNumbers>();
  std::vector<float> own{4, 5};
  const float* const place = own.data();
  kept->lend(std::move(own)).reset();
  EXPECT_EQ(kept->take(2).data(), place);
  EXPECT_TRUE(kept->take(2).empty()) << "it is the caller's now";
}

TEST(KeptNumbers, BlocksOfAnotherSizeAndMoreThanTwoAreFreed) {
  const auto kept = std::make_shared<KeptNumbers>();
  std::weak_ptr<const void> of_first;
  {
    auto first = borrow_full(*kept, 3);
    of_first = KeptNumbers::memory_of(first);
    auto second = borrow_full(*kept, 3);
    auto third = borrow_full(*kept, 3);
    first.reset();
    second.reset();
    EXPECT_FALSE(of_first.expired());
    third.reset();
  }
  EXPECT_TRUE(of_first.expired());
  auto last = borrow_full(*kept, 3);
  const std::weak_ptr<const void> of_last = KeptNumbers::memory_of(last);
  last.reset();
  EXPECT_FALSE(of_last.expired());
  (void)kept->borrow(4);
  EXPECT_TRUE(of_last.expired());
}

TEST(KeptNumbers, MemoryThatIsHeldIsNeitherFreedNorGivenAway) {
  auto kept = std::make_shared<KeptNumbers>();
  auto block = borrow_full(*kept, 2);
  const std::shared_ptr<const void> held = KeptNumbers::memory_of(block);
  const float* const place = block->data();
  EXPECT_NE(KeptNumbers::move_away(std::move(block)).data(), place);
  EXPECT_NE(kept->take(2).data(), place);
  EXPECT_EQ(kept->borrow(2)->data(), place) << "others may write there";
  kept.reset();
  EXPECT_EQ(static_cast<const KeptNumbers::Block*>(held.get())->data(), place);
  EXPECT_EQ(*place, 0.0F);
}

TEST(KeptNumbers, AVectorThatIsTakenIsNotCopied) {
  const auto kept = std::make_shared<KeptNumbers>();
  auto block = borrow_full(*kept, 2);
  const float* const place = block->data();
  EXPECT_EQ(Numbers(std::move(block), 2).take().data(), place);
  const std::vector<float> shared{6, 7};
  kept->lend({8, 9}).reset();
  const std::vector<float> copy = Numbers(shared, kept, kept).take(kept.get());
  EXPECT_EQ(copy, shared);
}

// What a reader makes room for holds the numbers before, which shows that nothing was cleared.
TEST(KeptNumbers, TheNextPayloadComesToTheMemoryOfTheOneBefore) {
  const auto kept = std::make_shared<KeptNumbers>();
  const std::string frame = protocol::encode(protocol::Snapshot{.version = Version{1}}, 2);
  RecordReader reader(/*early=*/false, kept);
  ASSERT_FALSE(reader.take(frame, 2));
  const std::span<char> first = reader.room(2 * sizeof(float));
  std::fill(first.begin(), first.end(), '\x41');
  ASSERT_TRUE(reader.filled());  // And dropped.
  ASSERT_FALSE(reader.take(frame, 2));
  const std::span<char> second = reader.room(sizeof(float));
  EXPECT_EQ(second.data(), first.data());
  EXPECT_EQ(second[0], '\x41');
}

}  // namespace
}  // namespace outpace::wire
