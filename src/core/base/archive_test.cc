#include "base/archive.h"

#include <gtest/gtest.h>

#include "base/ids.h"
#include "base/kept_test.h"
#include "base/time.h"

namespace outpace {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen };

struct Inner {
  int number = 0;

  void keep(Archive& archive) { archive("number", number); }
  bool operator==(const Inner&) const = default;
};

struct Everything {
  bool flag = false;
  std::uint32_t whole = 0;
  std::int64_t negative = 0;
  float small = 0.0F;
  double real = 0.0;
  std::string text;
  WorkerId worker{};
  Colour colour = Colour::kRed;
  Duration duration{};
  Time time{};
  std::optional<Inner> there;
  std::optional<Inner> not_there = Inner{7};
  std::vector<float> floats;
  std::vector<bool> bits;
  std::vector<std::vector<float>> rows;
  std::array<double, 2> pair{};
  std::map<std::uint32_t, Inner> by_number;
  std::set<WorkerId> some;
  std::deque<Inner> queue;

  void keep(Archive& archive) {
    archive("flag", flag)("whole", whole)("negative", negative)("small", small)("real", real);
    archive("text", text)("worker", worker)("colour", colour)("duration", duration)("time", time);
    archive("there", there)("not_there", not_there)("floats", floats)("bits", bits);
    archive("rows", rows)("pair", pair)("by_number", by_number)("some", some)("queue", queue);
  }
  bool operator==(const Everything&) const = default;
};

TEST(Archive, ReadsWhatItWrote) {
  Everything from{.flag = true,
                  .whole = 4'000'000'000,
                  .negative = -5,
                  .small = 0.1F,
                  .real = 0.1,
                  .text = "text",
                  .worker = WorkerId{3},
                  .colour = Colour::kGreen,
                  .duration = Duration{5},
                  .time = Time{Duration{6}},
                  .there = Inner{1},
                  .not_there = std::nullopt,
                  .floats = {1.0F, 2.0F},
                  .bits = {true, false, true},
                  .rows = {{1.0F}, {}, {2.0F, 3.0F}},
                  .pair = {1.0, 2.0},
                  .by_number = {{1, Inner{10}}, {2, Inner{20}}},
                  .some = {WorkerId{1}, WorkerId{9}},
                  .queue = {Inner{1}, Inner{2}}};
  Everything to;
  copy_kept(from, to);
  EXPECT_TRUE(from == to);
}

}  // namespace
}  // namespace outpace
