#include "compress/feedback.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "compress/blocks.h"
#include "compress/pack.h"

namespace outpace::compress {
namespace {

// As pack_block_sums(), for a chunk or less of another format.
void pack_chunk_sums(const Format& format, const Sums& sums, std::span<std::byte> packed) {
  const std::size_t count = sums.numbers.size();
  std::array<float, kChunk> added;
  for (std::size_t i = 0; i < count; ++i) {
    added[i] = sums.numbers[i] + sums.share * sums.before[i];
  }
  pack(format, std::span(added).first(count), packed);
  unpack(format, packed, sums.after);
  bool finite = true;
  for (std::size_t i = 0; i < count; ++i) {
    const float left = added[i] - sums.after[i];
    finite = finite && std::isfinite(left);
    sums.after[i] = left;
  }
  if (finite) {
    return;
  }
  const bool together = format.kind == Kind::kTopK;  // They share a scale.
  for (std::size_t i = 0; i < count; ++i) {
    sums.after[i] = together || !std::isfinite(sums.after[i]) ? sums.before[i] : sums.after[i];
  }
}

}  // namespace

Feedback::Feedback(const Compression& compression, std::size_t numbers)
    : compression_(compression),
      size_(compression.format.kind == Kind::kNone || compression.feedback == 0.0 ? 0 : numbers),
      left_(size_),
      next_(size_) {}

void Feedback::pack(std::size_t begin,
                    std::span<const float> numbers,
                    std::span<std::byte> packed) {
  CHECK(packed.size() == packed_bytes(format(), numbers.size()));
  if (!remembers()) {
    return compress::pack(format(), numbers, packed);
  }
  CHECK(begin <= size_ && numbers.size() <= size_ - begin);
  add({.begin = begin, .end = begin + numbers.size()});
  pack_remembering(begin, numbers, packed);
}

void Feedback::pack_remembering(std::size_t begin,
                                std::span<const float> numbers,
                                std::span<std::byte> packed) {
  const Sums sums{.numbers = numbers,
                  .before = std::span<const float>(left_).subspan(begin, numbers.size()),
                  .share = static_cast<float>(compression_.feedback),
                  .after = std::span(next_).subspan(begin, numbers.size())};
  if (format().kind == Kind::kInt8 || format().kind == Kind::kInt4) {
    return pack_block_sums(format().kind, sums, packed.data());
  }
  for (std::size_t at = 0; at < numbers.size(); at += kChunk) {
    const std::size_t count = std::min(kChunk, numbers.size() - at);
    const auto chunk = packed.first(packed_bytes(format(), count));
    pack_chunk_sums(format(),
                    {.numbers = sums.numbers.subspan(at, count),
                     .before = sums.before.subspan(at, count),
                     .share = sums.share,
                     .after = sums.after.subspan(at, count)},
                    chunk);
    packed = packed.subspan(chunk.size());
  }
}

void Feedback::add(Range part) {
  for (const Range& other : packed_) {
    CHECK(part.end <= other.begin || other.end <= part.begin);
  }
  if (!packed_.empty() && packed_.back().begin == part.end) {
    packed_.back().begin = part.begin;  // Slices come from the gradient's end to its beginning.
  } else if (!packed_.empty() && packed_.back().end == part.begin) {
    packed_.back().end = part.end;
  } else {
    packed_.push_back(part);
  }
}

void Feedback::copy(Range range, const std::vector<float>& from, std::vector<float>& to) {
  CHECK(range.begin <= range.end && range.end <= from.size());
  std::copy(from.begin() + static_cast<std::ptrdiff_t>(range.begin),
            from.begin() + static_cast<std::ptrdiff_t>(range.end),
            to.begin() + static_cast<std::ptrdiff_t>(range.begin));
}

void Feedback::accepted(std::span<const Range> except) {
  if (!remembers()) {
    return;
  }
  for (const Range& range : except) {
    copy(range, left_, next_);
  }
  if (packed_.size() == 1 && packed_[0].begin == 0 && packed_[0].end == size_) {
    left_.swap(next_);
  } else {
    for (const Range& range : packed_) {
      copy(range, next_, left_);
    }
  }
  packed_.clear();
}

void Feedback::given_up() {
  packed_.clear();
}

void Feedback::keep(Archive& archive) {
  archive("left", left_);
  if (left_.size() != size_) {
    throw Error(ExitCode::kUnreadable,
                "state 'left' has " + std::to_string(left_.size()) +
                    " numbers; this network's has " + std::to_string(size_));
  }
  packed_.clear();
}

}  // namespace outpace::compress
