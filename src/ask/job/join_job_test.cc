#include "job/join_job.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::job {
namespace {

using Words = std::vector<std::string>;

TEST(JoinJob, TakesTheCodeFromAWordOrAFile) {
  const JoinWords word = words_of({.code = "outpace1abc", .command = {"python3", "train.py"}});
  EXPECT_EQ(word.code, "outpace1abc");
  EXPECT_EQ(word.command, (Words{"python3", "train.py"}));
  const JoinWords file =
      words_of({.code = "python3", .command = {"train.py"}, .code_file = "job.code"});
  EXPECT_EQ(file.code, std::nullopt);
  EXPECT_EQ(file.command, (Words{"python3", "train.py"}));
  EXPECT_EQ(words_of({.code = "--", .command = {"python3"}, .code_file = "job.code"}).command,
            Words{"python3"});
  EXPECT_EQ(words_of({.code = "-"}).command, Words{}) << "a ring or a gossip says what to do";
}

TEST(JoinJob, SaysWhatIsMissing) {
  const auto why = [](const JoinJob& job) {
    return refusal_of([&] { static_cast<void>(words_of(job)); });
  };
  EXPECT_NE(why({}).find("the code is missing"), std::string::npos);
  EXPECT_NE(why({.code = "--", .command = {"python3"}}).find("the code is missing"),
            std::string::npos);
  EXPECT_NE(why({.code = "outpace1abc", .command = {"a"}, .code_file = "f"}).find("one of them"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::job
