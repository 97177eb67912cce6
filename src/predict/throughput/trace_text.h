// A text that arrives in blocks, read by the JSON parser character by character.
//
// The parser keeps a string or a number whole, so that an endless one would take all memory. The
// number of bytes between two marks is therefore bounded.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace outpace::throughput {

class TraceText {
 public:
  struct Bounds {
    std::uint64_t bytes;
    std::uint64_t bytes_between_marks;
  };

  // `next` returns a block, valid until it is called again, and an empty one at the end. Beyond a
  // bound, a usage error is thrown that begins with `name`.
  TraceText(std::function<std::string_view()> next, std::string name, const Bounds& bounds);

  [[nodiscard]] bool at_end() const { return at_ == block_.size(); }
  [[nodiscard]] char current() const { return block_[at_]; }
  void advance();
  // Bytes read.
  [[nodiscard]] std::uint64_t position() const { return before_ + at_; }
  // The parser has finished a value.
  void mark() { marked_ = position(); }

  class Iterator {
   public:
    // NOLINTBEGIN(readability-identifier-naming): the standard library's names.
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;
    // NOLINTEND(readability-identifier-naming)

    Iterator() = default;  // The end.
    explicit Iterator(TraceText& text) : text_(&text) {}

    char operator*() const { return text_->current(); }
    Iterator& operator++() {
      text_->advance();
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      text_->advance();
      return before;
    }
    bool operator==(const Iterator& other) const { return is_end() == other.is_end(); }

   private:
    [[nodiscard]] bool is_end() const { return text_ == nullptr || text_->at_end(); }

    TraceText* text_ = nullptr;
  };

 private:
  void fetch();

  const std::function<std::string_view()> next_;
  const std::string name_;
  const Bounds bounds_;

  std::string_view block_;
  std::size_t at_ = 0;
  std::uint64_t before_ = 0;  // Bytes of the blocks before this one.
  std::uint64_t marked_ = 0;
};

}  // namespace outpace::throughput
