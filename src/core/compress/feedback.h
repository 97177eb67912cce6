// What a worker's pushes have left behind: the difference between its numbers and what was sent of
// them. It counts with the next push.
//
//   a = x + B e        packed and sent: Q(a)
//   accepted:          e = a - Q(a)
//   given up:          e stays
//
// A push that the server drops or refuses, or that is given up, gives its examples back, and others
// compute them; if x stayed in e, they would count twice. So with B = 1 the sum of what was
// accepted and of what is left is the sum of the accepted x, but for the rounding of x + e.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/archive.h"
#include "compress/format.h"

namespace outpace::compress {

class Feedback {
 public:
  struct Range {
    std::size_t begin;
    std::size_t end;  // The first number that is not of it.
  };

  // For gradients of this size. With Kind::kNone or feedback 0 nothing is kept, and left() is
  // empty.
  Feedback(const Compression& compression, std::size_t numbers);

  [[nodiscard]] const Format& format() const { return compression_.format; }

  // Packs the numbers from `begin` on of a gradient together with what was left behind there.
  // Where a sum or what is sent of it is not finite, what is left of the whole block, or chunk of
  // top-k, stays as it is. REQUIRES: the parts of one gradient do not overlap.
  void pack(std::size_t begin, std::span<const float> numbers, std::span<std::byte> packed);

  // The push that was packed since the last accepted() or given_up() counts, but for the numbers in
  // `except`, such as tensors that the server did without: what was left there stays.
  void accepted(std::span<const Range> except = {});
  // It does not.
  void given_up();

  // Goes back to what left() was. REQUIRES: it is of this one, or of one like it.
  void go_back(std::span<const float> left);
  // What is left, without the push that has no verdict.
  [[nodiscard]] std::span<const float> left() const { return left_; }

  // Without the push that has no verdict: a worker that comes back has given it up. Reading throws
  // an Error(kUnreadable) if it is of another size.
  void keep(Archive& archive);

 private:
  [[nodiscard]] bool remembers() const { return size_ > 0; }
  void pack_remembering(std::size_t begin,
                        std::span<const float> numbers,
                        std::span<std::byte> packed);
  void add(Range part);
  void copy(Range range, const std::vector<float>& from, std::vector<float>& to);

  Compression compression_;
  std::size_t size_;  // 0 if nothing is kept.
  std::vector<float> left_;
  std::vector<float> next_;    // What will be left if the push is accepted, in `packed_`.
  std::vector<Range> packed_;  // Parts that touch are one.
};

}  // namespace outpace::compress
