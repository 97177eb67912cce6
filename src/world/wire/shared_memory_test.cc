#include "wire/shared_memory.h"

#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/records.h"

namespace outpace::wire {
namespace {

constexpr std::uint64_t kNumbers = 1500;  // Two pages a place.
constexpr std::uint64_t kStride = 8192;

std::shared_ptr<const std::vector<float>> all(float value) {
  return std::make_shared<const std::vector<float>>(kNumbers, value);
}

// What a reader of the memory sees at a place.
std::vector<float> seen_at(const LentMemory& memory, std::uint64_t offset) {
  const Descriptor descriptor(::dup(memory.descriptor()));
  const auto borrowed =
      BorrowedMemory::map(descriptor,
                          memory.bytes(),
                          {.bytes_max = memory.bytes(), .pages = BorrowedMemory::Pages::kSome});
  const std::span<const float> numbers = borrowed->numbers(offset, kNumbers);
  return {numbers.begin(), numbers.end()};
}

TEST(LentMemory, PublishesAPayloadOnceForAllWhoReadIt) {
  const auto memory = LentMemory::create(kNumbers, 3);
  EXPECT_EQ(memory->bytes(), 3 * kStride);
  const auto weights = all(1);
  const auto first = memory->publish(weights);
  const auto again = memory->publish(weights);
  const auto other = memory->publish(all(2));
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ(first->offset, again->offset);
  EXPECT_NE(first->offset, other->offset);
  EXPECT_EQ(seen_at(*memory, first->offset), *all(1));
  EXPECT_EQ(seen_at(*memory, other->offset), *all(2));
}

TEST(LentMemory, UsesAPlaceAgainOnlyWhenNobodyReadsIt) {
  const auto memory = LentMemory::create(kNumbers, 2);
  auto first = memory->publish(all(1));
  auto shared = first->lease;
  const auto second = memory->publish(all(2));
  EXPECT_FALSE(memory->publish(all(3))) << "both are being read";
  EXPECT_FALSE(memory->room(kNumbers));
  first.reset();
  EXPECT_FALSE(memory->publish(all(3))) << "another reads the first, too";
  shared = nullptr;
  const auto third = memory->publish(all(3));
  ASSERT_TRUE(second && third);
  EXPECT_EQ(third->offset, 0U);
  EXPECT_EQ(seen_at(*memory, third->offset), *all(3));
  EXPECT_EQ(seen_at(*memory, second->offset), *all(2));
}

TEST(LentMemory, SparesAVersionThatMayBeAskedForAgain) {
  const auto memory = LentMemory::create(kNumbers, 2);
  const auto kept = all(1);
  {
    const auto first = memory->publish(kept);
    EXPECT_EQ(first->offset, 0U);
    EXPECT_EQ(memory->publish(all(2))->offset, kStride);
  }
  EXPECT_EQ(memory->publish(all(3))->offset, kStride);
  EXPECT_EQ(memory->publish(kept)->offset, 0U);
}

TEST(LentMemory, TakesPagesForAsManyPlacesAsAreReadAtATime) {
  const auto memory = LentMemory::create(kNumbers, 64);
  for (int version = 0; version < 200; ++version) {
    const auto weights = all(static_cast<float>(version));
    const auto last = memory->publish(weights);
    const auto next = memory->publish(all(-1));
    ASSERT_TRUE(last && next);
  }
  struct stat status {};
  ASSERT_EQ(::fstat(memory->descriptor(), &status), 0);
  EXPECT_EQ(status.st_blocks * 512, 2 * static_cast<std::int64_t>(kStride));
}

TEST(LentMemory, TakesNoPayloadLargerThanAPlace) {
  const auto memory = LentMemory::create(kNumbers, 2);
  EXPECT_FALSE(memory->publish(std::make_shared<const std::vector<float>>(kNumbers + 1)));
  EXPECT_FALSE(memory->room(kNumbers + 1));
}

TEST(LentMemory, FindsWhatWasWrittenInItsRoom) {
  const auto memory = LentMemory::create(kNumbers, 1);
  auto room = memory->room(kNumbers);
  ASSERT_TRUE(room);
  std::fill(room->numbers.begin(), room->numbers.end(), 5.0F);
  const Payload payload = std::move(*room).payload();
  EXPECT_EQ(memory->find(payload)->offset, 0U);
  EXPECT_EQ(seen_at(*memory, 0), *all(5));
  EXPECT_FALSE(memory->find(all(5)));
  EXPECT_FALSE(memory->publish(all(6))) << "it holds the gradient";
}

TEST(LentMemory, IsSealedToEverybodyElse) {
  const auto memory = LentMemory::create(kNumbers, 1);
  const int descriptor = memory->descriptor();
  EXPECT_EQ(::mmap(nullptr, kStride, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::pwrite(descriptor, "x", 1, 0), -1);
  EXPECT_EQ(::ftruncate(descriptor, 0), -1);
  EXPECT_EQ(::fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
  EXPECT_EQ(::fcntl(descriptor, F_ADD_SEALS, F_SEAL_WRITE), -1);
  void* const mapped = ::mmap(nullptr, kStride, PROT_READ, MAP_SHARED, descriptor, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(::mprotect(mapped, kStride, PROT_READ | PROT_WRITE), -1);
  ::munmap(mapped, kStride);
}

TEST(BorrowedMemory, HasNoNumbersBeyondItsEnd) {
  const auto memory = LentMemory::create(kNumbers, 1);
  const Descriptor descriptor(::dup(memory->descriptor()));
  const auto borrowed = BorrowedMemory::map(
      descriptor, kStride, {.bytes_max = kStride, .pages = BorrowedMemory::Pages::kAll});
  EXPECT_EQ(borrowed->numbers(kStride - 4, 1).size(), 1U);
  EXPECT_EQ(borrowed->numbers(0, kStride / 4).size(), kStride / 4);
  for (const auto& [offset, count] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{kStride - 4, 2},
                                                            {kStride, 1},
                                                            {1, 1},
                                                            {0, ~std::uint64_t{0}},
                                                            {~std::uint64_t{3}, 2}}) {
    EXPECT_THROW((void)borrowed->numbers(offset, count), Error) << offset << " " << count;
  }
}

TEST(RecordWriter, FreesThePlaceOfAReleaseThatGaveWay) {
  const auto memory = LentMemory::create(kNumbers, 2);
  RecordWriter writer(Checksums::kNone);
  const protocol::Release release{};
  for (const float value : {1.0F, 2.0F}) {
    const auto weights = all(value);
    writer.add(release, weights, memory->publish(weights));
  }
  EXPECT_EQ(writer.unreturned(), 1U);
  std::deque<Piece> pieces;
  writer.next(pieces);
  EXPECT_TRUE(writer.empty()) << "the place is all there is of the payload";
  EXPECT_EQ(pieces.size(), 2U);
  EXPECT_EQ(writer.unreturned(), 1U);
  EXPECT_EQ(memory->publish(all(3))->offset, 0U) << "where the release was that gave way";
  writer.returned(kStride);
  EXPECT_EQ(writer.unreturned(), 0U);
  EXPECT_THROW(writer.returned(kStride), Error);
}

}  // namespace
}  // namespace outpace::wire
