#include "compress/feedback.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "compress/blocks.h"
#include "compress/halves.h"
#include "compress/pack.h"
#include "compress/top_k.h"

namespace outpace::compress {
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
  switch (format().kind) {
    case Kind::kNone:
      CHECK(false);
      return;
    case Kind::kBf16:
    case Kind::kFp16:
      return pack_half_sums(format().kind, sums, packed.data());
    case Kind::kInt8:
    case Kind::kInt4:
      return pack_block_sums(format().kind, sums, packed.data());
    case Kind::kTopK:
      return pack_top_k_sums(format(), sums, packed.data());
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

void Feedback::go_back(std::span<const float> left) {
  CHECK(left.size() == size_);
  left_.assign(left.begin(), left.end());
  packed_.clear();
}

void Feedback::keep(Archive& archive) {
  archive("left", left_);
  if (left_.size() != size_) {
    throw Error(ExitCode::kUnreadable,
                "state 'left' has " + std::to_string(left_.size()) +
                    " numbers; this worker keeps " + std::to_string(size_));
  }
  packed_.clear();
}

}  // namespace outpace::compress
