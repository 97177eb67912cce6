#include "throughput/trace_text.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::throughput {
namespace {

std::function<std::string_view()> blocks(std::vector<std::string> pieces) {
  return [pieces = std::move(pieces), at = std::size_t{0}]() mutable -> std::string_view {
    return at < pieces.size() ? pieces[at++] : std::string_view{};
  };
}

TEST(TraceText, IsReadAcrossBlocks) {
  TraceText text(blocks({"ab", "c", "de"}), "t", {.bytes = 5, .bytes_between_marks = 5});
  EXPECT_EQ(std::string(TraceText::Iterator(text), TraceText::Iterator()), "abcde");
  TraceText empty(blocks({}), "t", {.bytes = 5, .bytes_between_marks = 5});
  EXPECT_TRUE(empty.at_end());
}

TEST(TraceText, HasBounds) {
  const auto read = [](const TraceText::Bounds& bounds, bool marking) {
    return refusal_of([&] {
      TraceText text(blocks({"aaaa", "bbbb", "cccc"}), "t", bounds);
      for (TraceText::Iterator at(text); at != TraceText::Iterator(); ++at) {
        if (marking) {
          text.mark();
        }
      }
    });
  };
  EXPECT_EQ(read({.bytes = 12, .bytes_between_marks = 12}, false), "accepted");
  EXPECT_EQ(read({.bytes = 11, .bytes_between_marks = 12}, false),
            "t: is larger than 11 bytes; profile fewer steps");
  EXPECT_EQ(read({.bytes = 12, .bytes_between_marks = 6}, false),
            "t: has a value of more than 6 bytes; a trace has none");
  EXPECT_EQ(read({.bytes = 12, .bytes_between_marks = 6}, true), "accepted");
}

}  // namespace
}  // namespace outpace::throughput
