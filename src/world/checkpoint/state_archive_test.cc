#include "checkpoint/state_archive.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::checkpoint {
namespace {

struct Small {
  std::uint32_t count = 0;
  double value = 0.0;
  std::vector<float> floats;

  void keep(Archive& archive) { archive("count", count)("value", value)("floats", floats); }
};
struct Large {
  std::vector<Small> list;
  std::vector<std::vector<float>> rows;
  std::optional<Small> one;
  std::int64_t least = 0;
  std::uint64_t most = 0;
  std::vector<double> numbers;

  void keep(Archive& archive) {
    archive("list", list)("rows", rows)("one", one)("least", least)("most", most);
    archive("numbers", numbers);
  }
};

State written(Large& large) {
  StateWriter writer;
  large.keep(writer);
  return writer.take();
}

TEST(StateArchive, ReadsToTheBitWhatItWroteAsText) {
  const double infinity = std::numeric_limits<double>::infinity();
  Large from{.list = {{1, 0.1, {1.0F, 2.0F}}, {2, -0.0, {}}},
             .rows = {{1.0F}, {}, {3.0F, 4.0F}},
             .one = Small{3, 1e-300, {5.0F}},
             .least = std::numeric_limits<std::int64_t>::min(),
             .most = std::numeric_limits<std::uint64_t>::max(),
             .numbers = {infinity, -infinity, std::nan(""), 1.0 / 3.0, 5.0}};
  State state = written(from);
  EXPECT_EQ(state.tensors.at("list.0.floats"), (std::vector<float>{1.0F, 2.0F}));
  EXPECT_EQ(state.tensors.at("one.0.floats"), std::vector<float>{5.0F});
  state.json = nlohmann::json::parse(state.json.dump());
  StateReader reader(std::move(state));
  Large to;
  to.keep(reader);
  ASSERT_EQ(to.list.size(), 2U);
  EXPECT_EQ(to.list[0].floats, from.list[0].floats);
  EXPECT_EQ(to.list[0].value, 0.1);
  EXPECT_TRUE(std::signbit(to.list[1].value));
  EXPECT_EQ(to.rows, from.rows);
  EXPECT_EQ(to.one->value, 1e-300);
  EXPECT_EQ(to.least, from.least);
  EXPECT_EQ(to.most, from.most);
  EXPECT_EQ(to.numbers[0], infinity);
  EXPECT_EQ(to.numbers[1], -infinity);
  EXPECT_TRUE(std::isnan(to.numbers[2]));
  EXPECT_EQ(to.numbers[3], 1.0 / 3.0);
  EXPECT_EQ(to.numbers[4], 5.0);
}

std::string refusal_after(const char* pointer, const nlohmann::json& value) {
  Large from{.list = {{1, 0.1, {1.0F, 2.0F}}}};
  State state = written(from);
  state.json[nlohmann::json::json_pointer(pointer)] = value;
  StateReader reader(std::move(state));
  Large to;
  return error_of([&] { to.keep(reader); });
}

TEST(StateArchive, NamesWhatIsWrong) {
  EXPECT_EQ(refusal_after("/list/0/count", 5'000'000'000),
            "6: state 'list.0.count' is not a whole number from 0 to 4294967295");
  EXPECT_EQ(refusal_after("/list/0/count", -1),
            "6: state 'list.0.count' is not a whole number from 0 to 4294967295");
  EXPECT_EQ(refusal_after("/list/0/value", "x"), "6: state 'list.0.value' is not a number");
  EXPECT_EQ(refusal_after("/list/0/floats/floats", 3U),
            "6: state 'list.0.floats' has 2 floats, and should have 3");
  EXPECT_EQ(refusal_after("/list", 3), "6: state 'list' is not a list");
  EXPECT_EQ(refusal_after("/list/0", 3), "6: state 'list.0' is not a group");
}

TEST(StateArchive, ReadsAVectorThatIsThereInItsSizeAlone) {
  Small from{1, 0.0, {1.0F, 2.0F}};
  StateWriter writer;
  from.keep(writer);
  StateReader reader(writer.take());
  Small to{.floats = {0.0F, 0.0F, 0.0F}};
  EXPECT_EQ(error_of([&] { to.keep(reader); }), "6: state 'floats' has 2 floats, this job needs 3");
}

TEST(StateArchive, TakesTheMemoryOfAStateThatIsNotNeededAnyMore) {
  Small from{1, 0.0, {1.0F, 2.0F, 3.0F}};
  Tensors spare{{"floats", {7.0F, 8.0F, 9.0F, 10.0F}}, {"others", {5.0F}}};
  const float* const memory = spare.at("floats").data();
  StateWriter writer(std::move(spare));
  from.keep(writer);
  const State state = writer.take();
  EXPECT_EQ(state.tensors, (Tensors{{"floats", {1.0F, 2.0F, 3.0F}}}));
  EXPECT_EQ(state.tensors.at("floats").data(), memory);
}

}  // namespace
}  // namespace outpace::checkpoint
