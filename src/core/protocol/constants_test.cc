#include "protocol/constants.h"

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::protocol {
namespace {

std::vector<Constants> parts_of(const std::string& bytes) {
  std::vector<Constants> parts;
  in_parts(bytes, [&](const Constants& part) { parts.push_back(part); });
  return parts;
}

TEST(Constants, ComeTogetherAgain) {
  std::string bytes(kConstantPartMax + 3, 'a');
  bytes.back() = '\0';
  Assembly assembly;
  EXPECT_TRUE(assembly.complete()) << "nothing was announced";
  const std::vector<Constants> parts = parts_of(bytes);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(assembly.add(parts[0]), "");
  EXPECT_FALSE(assembly.complete());
  EXPECT_EQ(assembly.add(parts[1]), "");
  ASSERT_TRUE(assembly.complete());
  EXPECT_EQ(assembly.take(), bytes);
  EXPECT_TRUE(parts_of("").empty());
}

TEST(Constants, AreReadAsTheyWereWrittenAndChecked) {
  const Constants part{.begin = 3, .whole = 6, .bytes = std::string("a\0b", 3)};
  EXPECT_EQ(std::get<Constants>(decode(encode(part, 0)).message), part);
  const auto refusal = [](const Constants& wrong) {
    try {
      (void)decode(encode(wrong, 0));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal({.begin = 4, .whole = 6, .bytes = "abc"}), "constants goes beyond its end");
  EXPECT_EQ(refusal({.begin = 0, .whole = 6, .bytes = ""}), "constants.bytes must not be empty");
  EXPECT_EQ(refusal({.begin = 0, .whole = kConstantBytesMax + 1, .bytes = "a"}),
            "constants.whole is above 2^34 bytes");
}

TEST(Constants, BeginAnewAtTheFirstPart) {
  Assembly assembly;
  EXPECT_EQ(assembly.add({.begin = 0, .whole = 4, .bytes = "ab"}), "");
  EXPECT_EQ(assembly.add({.begin = 0, .whole = 2, .bytes = "xy"}), "");
  EXPECT_EQ(assembly.take(), "xy");
}

TEST(Constants, RefuseAPartOutOfOrderOrOfOtherBytes) {
  Assembly assembly;
  EXPECT_EQ(assembly.add({.begin = 1, .whole = 4, .bytes = "b"}),
            "constants: a part begins at 1 of 4 bytes, after 0 of 0");
  EXPECT_EQ(assembly.add({.begin = 0, .whole = 4, .bytes = "ab"}), "");
  EXPECT_EQ(assembly.add({.begin = 2, .whole = 5, .bytes = "cde"}),
            "constants: a part begins at 2 of 5 bytes, after 2 of 4");
}

}  // namespace
}  // namespace outpace::protocol
