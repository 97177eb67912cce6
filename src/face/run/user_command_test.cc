#include "run/user_command.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::run {
namespace {

TEST(UserCommand, IsQuotedAsAShellTakesIt) {
  EXPECT_EQ(quoted({"python3", "train.py", "--lr=0.1"}), "python3 train.py --lr=0.1");
  EXPECT_EQ(quoted({"a b", "", "it's", "$HOME"}), "'a b' '' 'it'\\''s' '$HOME'");
}

TEST(UserCommand, IsRefusedIfThereIsNoSuchProgram) {
  EXPECT_NE(refusal_of([] {
              check_program("join", "no-such-program");
            }).find("join: there is no program 'no-such-program' in PATH"),
            std::string::npos);
  EXPECT_NE(refusal_of([] {
              check_program("join", "./no-such-program");
            }).find("is not a program that can be run"),
            std::string::npos);
  check_program("join", "sh");
}

}  // namespace
}  // namespace outpace::run
