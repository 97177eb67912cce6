#include "wire/join_code.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::wire {
namespace {

JoinCode some_code() {
  JoinCode code{.generation = 3, .addresses = {"10.0.0.1:4000", "[fd00::1]:4000"}};
  code.secret.fill(7);
  code.authority.fill(9);
  return code;
}

std::string why_no_code(const std::string& text) {
  return refusal_of([&] { static_cast<void>(parse_code(text)); });
}

TEST(JoinCode, IsOneWordThatSaysAll) {
  const std::string text = to_text(some_code());
  EXPECT_EQ(parse_code(text), some_code());
  EXPECT_EQ(parse_code(" " + text + "\n"), some_code()) << "as it is pasted";
  EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz1234567"), std::string::npos) << text;
}

TEST(JoinCode, ShowsEveryWrongLetter) {
  const std::string text = to_text(some_code());
  for (std::size_t at = 8; at < text.size(); ++at) {
    std::string wrong = text;
    wrong[at] = wrong[at] == 'a' ? 'b' : 'a';
    EXPECT_NE(why_no_code(wrong).find("a wrong letter"), std::string::npos) << at;
  }
  EXPECT_NE(why_no_code(text.substr(0, text.size() - 1)).find("not whole"), std::string::npos);
  EXPECT_NE(why_no_code(text + "a").find("not whole"), std::string::npos);
}

TEST(JoinCode, ShowsWhatIsNone) {
  EXPECT_NE(why_no_code("").find("this is no code"), std::string::npos);
  EXPECT_NE(why_no_code("10.0.0.1:4000").find("this is no code"), std::string::npos);
  EXPECT_NE(why_no_code("outpace1").find("not whole"), std::string::npos);
  EXPECT_NE(why_no_code("outpace1" + std::string(1 << 20U, 'a')).find("not whole"),
            std::string::npos);
  EXPECT_EQ(why_no_code("secretword").find("secretword"), std::string::npos)
      << "it is not repeated";
}

TEST(Pass, IsOfOneNameAndOneCode) {
  PassName one{};
  one.fill(1);
  PassName other{};
  other.fill(2);
  JoinCode next = some_code();
  next.generation = 4;
  const Pass pass = make_pass(some_code(), one);
  EXPECT_EQ(pass, make_pass(some_code(), one));
  EXPECT_NE(pass.key, make_pass(some_code(), other).key);
  EXPECT_NE(pass.key, make_pass(next, one).key);
  EXPECT_EQ(pass.key, pass_key(some_code().secret, {.generation = 3, .pass = one}));
}

TEST(Pass, StandsWhereATokenDoes) {
  const Pass pass = make_pass(some_code(), draw_secret());
  const std::string text = to_text(pass);
  EXPECT_EQ(parse_pass(text), pass);
  EXPECT_EQ(parse_pass("0123456789abcdef"), std::nullopt) << "a token";
  EXPECT_NE(
      refusal_of([&] { static_cast<void>(parse_pass(text.substr(0, 40))); }).find("not whole"),
      std::string::npos);
}

}  // namespace
}  // namespace outpace::wire
