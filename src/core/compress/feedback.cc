#include "compress/feedback.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "compress/pack.h"

namespace outpace::compress {
namespace {

std::size_t together(Kind kind) {  // Numbers that share a scale.
  switch (kind) {
    case Kind::kInt8:
    case Kind::kInt4:
      return kBlock;
    case Kind::kTopK:
      return kChunk;
    default:
      return 1;
  }
}

// What `sent` leaves behind of `sums`; what was left `before` where that is not finite.
void subtract(std::span<const float> sums,
              std::span<const float> sent,
              std::span<const float> before,
              std::span<float> after) {
  bool finite = true;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    after[i] = sums[i] - sent[i];
    finite = finite && std::isfinite(after[i]);
  }
  if (!finite) {
    std::copy(before.begin(), before.end(), after.begin());
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
  const auto share = static_cast<float>(compression_.feedback);
  std::array<float, kChunk> sums{};
  std::array<float, kChunk> sent{};
  const std::size_t unit = together(format().kind);
  for (std::size_t done = 0; done < numbers.size(); done += kChunk) {
    const std::size_t count = std::min(kChunk, numbers.size() - done);
    const auto before = std::span<const float>(left_).subspan(begin + done, count);
    const auto after = std::span(next_).subspan(begin + done, count);
    for (std::size_t i = 0; i < count; ++i) {
      sums.at(i) = numbers[done + i] + share * before[i];
    }
    const std::size_t bytes = packed_bytes(format(), count);
    compress::pack(format(), std::span(sums).first(count), packed.first(bytes));
    unpack(format(), packed.first(bytes), std::span(sent).first(count));
    packed = packed.subspan(bytes);
    for (std::size_t at = 0; at < count; at += unit) {
      const std::size_t length = std::min(unit, count - at);
      subtract(std::span(sums).subspan(at, length),
               std::span(sent).subspan(at, length),
               before.subspan(at, length),
               after.subspan(at, length));
    }
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
