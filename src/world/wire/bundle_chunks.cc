#include "wire/bundle_chunks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/error.h"

namespace outpace::wire {
namespace {

constexpr std::size_t kCheckedBytes = 16;

Error broken_bundle(const std::string& what) {
  return {ExitCode::kFailure, "a bundle of connections: " + what};
}

}  // namespace

std::array<char, kFrameHeadBytes> encode_frame(const FrameHead& head) {
  std::array<char, kFrameHeadBytes> bytes{};
  std::memcpy(bytes.data(), &head.kind, sizeof(head.kind));
  std::memcpy(bytes.data() + 4, &head.bytes, sizeof(head.bytes));
  std::memcpy(bytes.data() + 8, &head.place, sizeof(head.place));
  const std::uint32_t checksum = crc32c({bytes.data(), kCheckedBytes});
  std::memcpy(bytes.data() + kCheckedBytes, &checksum, sizeof(checksum));
  return bytes;
}

FrameHead decode_frame(std::span<const char, kFrameHeadBytes> bytes) {
  FrameHead head{};
  std::memcpy(&head.kind, bytes.data(), sizeof(head.kind));
  std::memcpy(&head.bytes, bytes.data() + 4, sizeof(head.bytes));
  std::memcpy(&head.place, bytes.data() + 8, sizeof(head.place));
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + kCheckedBytes, sizeof(checksum));
  if (checksum != crc32c({bytes.data(), kCheckedBytes})) {
    throw broken_bundle("a frame was changed on the way: its checksum is another");
  }
  const bool chunk = head.kind == FrameKind::kChunk;
  if (head.kind < FrameKind::kChunk || head.kind > FrameKind::kEnd) {
    throw broken_bundle("a frame of an unknown kind");
  }
  if (chunk ? head.bytes == 0 || head.bytes > kChunkMax : head.bytes != 0) {
    throw broken_bundle("a frame that says it has " + std::to_string(head.bytes) + " bytes");
  }
  return head;
}

// ---- Sent ---------------------------------------------------------------------------------------

const Chunk& SentChunks::add(std::string bytes, Lane lane) {
  const std::uint64_t place = std::exchange(end_, end_ + bytes.size());
  Chunk chunk{
      .place = place, .bytes = std::make_shared<const std::string>(std::move(bytes)), .lane = lane};
  return chunks_.emplace(place, std::move(chunk)).first->second;
}

void SentChunks::taken(std::uint64_t place) {
  if (place > end_) {
    throw broken_bundle("the other side has taken what was never sent");
  }
  taken_ = std::max(taken_, place);
  while (!chunks_.empty() && chunks_.begin()->second.end() <= taken_) {
    chunks_.erase(chunks_.begin());
  }
  std::erase_if(again_, [this](std::uint64_t owed) { return !chunks_.contains(owed); });
}

void SentChunks::lost(Lane lane) {
  for (const auto& [place, chunk] : chunks_) {
    if (chunk.lane == lane) {
      again_.push_back(place);
    }
  }
  std::sort(again_.begin(), again_.end());
  again_.erase(std::unique(again_.begin(), again_.end()), again_.end());
}

const Chunk& SentChunks::give_again(Lane lane) {
  CHECK(owes());
  Chunk& chunk = chunks_.at(again_.front());
  again_.pop_front();
  chunk.lane = lane;
  return chunk;
}

// ---- Arrived ------------------------------------------------------------------------------------

void ArrivedChunks::add(std::uint64_t place, std::string bytes) {
  // Compared by subtraction, as a place may be anything.
  if (place > taken_ && place - taken_ > kOnTheWayMax - bytes.size()) {
    throw broken_bundle("a chunk that is too far ahead");
  }
  if (place < whole_ || ahead_.contains(place)) {
    return;
  }
  ahead_.emplace(place, std::move(bytes));
  while (!ahead_.empty() && ahead_.begin()->first == whole_) {
    auto first = ahead_.extract(ahead_.begin());
    whole_ += first.mapped().size();
    next_.push_back(std::move(first.mapped()));
  }
  if (!ahead_.empty() && ahead_.begin()->first < whole_) {
    throw broken_bundle("chunks that overlap");
  }
}

std::size_t ArrivedChunks::read(std::span<const iovec> parts) {
  std::size_t read = 0;
  for (const iovec& part : parts) {
    std::size_t filled = 0;
    while (filled < part.iov_len && !next_.empty()) {
      const std::string& first = next_.front();
      const std::size_t step = std::min(part.iov_len - filled, first.size() - read_of_first_);
      std::memcpy(static_cast<char*>(part.iov_base) + filled, first.data() + read_of_first_, step);
      filled += step;
      read_of_first_ += step;
      if (read_of_first_ == first.size()) {
        next_.pop_front();
        read_of_first_ = 0;
      }
    }
    read += filled;
  }
  taken_ += read;
  return read;
}

}  // namespace outpace::wire
