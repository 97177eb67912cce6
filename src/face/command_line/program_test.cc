#include "command_line/program.h"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/refusal_test.h"
#include "base/temporary_directory_test.h"

namespace outpace::command_line {
namespace {

// Its exit code is the option's.
Run add_end(job::OptionList& options) {
  auto code = std::make_shared<std::uint32_t>(3);
  options.add("code", *code, "Exit code");
  return [code](const job::OptionList& /*options*/) { return static_cast<int>(*code); };
}

Program sample() {
  return {.name = "sample",
          .what = "A program for tests.",
          .options_head = "# Head\n",
          .commands = {{"end", "End at once", add_end},
                       {"part", "Be a part of end", add_end, /*hidden=*/true},
                       {kOptions, "Print all options", nullptr}},
          .moved = {{"shake", "", "sample-lab shake"}, {"end", "--often", "sample-lab often"}}};
}

std::string refusal(const std::vector<std::string>& words) {
  return refusal_of([&] { (void)run(sample(), words); });
}

std::string printed_by(const std::vector<std::string>& words) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run(sample(), words), 0);
  return testing::internal::GetCapturedStdout();
}

TEST(Program, RunsTheCommandThatItsWordsName) {
  EXPECT_EQ(run(sample(), {"end"}), 3);
  EXPECT_EQ(run(sample(), {"end", "--code", "7"}), 7);
}

TEST(Program, NamesWhatIsNearAWrongWord) {
  EXPECT_EQ(refusal({}), "a command is missing; known: end, options (sample --help)");
  EXPECT_EQ(refusal({"edn"}), "unknown command 'edn'; did you mean 'end'?");
  EXPECT_EQ(refusal({"end", "--cod", "7"}), "end: unknown option '--cod'; did you mean '--code'?");
  EXPECT_EQ(refusal({"end", "--immediately"}),
            "end: unknown option '--immediately'; see sample end --help");
}

TEST(Program, NamesTheCommandOfAnotherProgramThatHasWhatItHad) {
  EXPECT_EQ(refusal({"shake", "--code", "7"}),
            "'shake' is a command of another program; run sample-lab shake");
  for (const char* word : {"--often", "--often=true"}) {
    EXPECT_EQ(refusal({"end", word}),
              "end: '--often' is a command of another program; run sample-lab often");
  }
  EXPECT_EQ(refusal({"end", "--oftener"}),
            "end: unknown option '--oftener'; see sample end --help");
}

TEST(Program, KeepsAHiddenCommandOutOfItsHelp) {
  EXPECT_EQ(run(sample(), {"part", "--code", "5"}), 5);
  const std::string help = printed_by({"--help"});
  EXPECT_NE(help.find("End at once"), std::string::npos) << help;
  EXPECT_EQ(help.find("part"), std::string::npos) << help;
  EXPECT_EQ(refusal({"parts"}), "unknown command 'parts'; known: end, options");
  EXPECT_EQ(printed_by({"options"}),
            "# Head\n\n## sample end\n\n| option | type | default | what it does |\n"
            "|---|---|---|---|\n| `--code` | COUNT | 3 | Exit code |\n");
}

TEST(Program, WritesManualPagesAndCompletions) {
  const TemporaryDirectory folder;
  const std::string man = (folder / "man").string();
  EXPECT_EQ(run(sample(), {"options", "--as", "man", "--to", man}), 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "man" / "sample.1"));
  EXPECT_NE(contents(folder / "man" / "sample-end.1").find("Exit code"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder / "man" / "sample-part.1"));
  EXPECT_EQ(refusal({"options", "--as", "man"}), "--as man writes several files; add --to FOLDER");
  EXPECT_NE(printed_by({"options", "--as", "bash"}).find("complete -F _sample sample"),
            std::string::npos);
  EXPECT_EQ(run(sample(), {"options", "--as", "zsh", "--to", man}), 0);
  EXPECT_NE(contents(folder / "man" / "_sample").find("#compdef sample"), std::string::npos);
}

TEST(Program, ReadsVariablesOnlyIfTheyAreItsOwn) {
  ASSERT_EQ(setenv("OUTPACE_CODE", "9", 1), 0);
  Program program = sample();
  EXPECT_EQ(run(program, {"end"}), 9);
  program.reads_environment = false;
  EXPECT_EQ(run(program, {"end"}), 3);
  ASSERT_EQ(unsetenv("OUTPACE_CODE"), 0);
}

TEST(Program, MakesALineAndAnExitCodeOfAnError) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_main("sample", [] { return 4; }), 4);
  EXPECT_EQ(run_main("sample", []() -> int { throw usage_error("no such\nthing"); }), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "sample: no such?thing\n");
}

}  // namespace
}  // namespace outpace::command_line
