#include "job/manual_page.h"

#include <gtest/gtest.h>

namespace outpace::job {
namespace {

TEST(ManualPage, HasTheOptionsOfACommand) {
  bool quiet = false;
  double rate = 0.1;
  std::string run;
  OptionList options;
  options.add("lr", rate, ".5 is much\\little").letter('r');
  options.add("quiet", quiet, "Say nothing");
  options.add("run", run, "Directory of the run").type("RUN").positional().required();
  const CommandPage command{.name = "show", .what = "Show a run", .options = &options};
  const ProgramPages program{.name = "sample",
                             .what = "Sample: a program.\nExit codes: 0 done.",
                             .version = "1.2",
                             .commands = {command}};
  EXPECT_EQ(manual_page(program, command).substr(0, 109),
            ".\\\" Written by `sample options --as man`.\n"
            ".TH SAMPLE\\-SHOW 1 \"\" \"sample 1.2\" \"\"\n"
            ".SH NAME\nsample\\-show \\- Show");
  const std::string page = manual_page(program, command);
  EXPECT_NE(page.find("\\fBsample show\\fR [\\fIOPTION\\fR]... \\fIRUN\\fR\n"), std::string::npos);
  EXPECT_NE(page.find(".TP\n\\fB\\-r\\fR, \\fB\\-\\-lr\\fR \\fINUMBER\\fR\n\\&.5 is much\\elittle "
                      "(default: 0.1)\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find(".TP\n\\fB\\-\\-quiet\\fR\nSay nothing\n"), std::string::npos);
  EXPECT_NE(page.find(".SH ARGUMENTS\n.TP\n\\fBrun\\fR\nDirectory of the run (required)\n"),
            std::string::npos)
      << page;
  const std::string first = manual_page(program);
  EXPECT_NE(first.find("sample \\- a program.\n"), std::string::npos);
  EXPECT_NE(first.find(".TP\n\\fBshow\\fR\nShow a run; see \\fBsample\\-show\\fR(1)\n"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::job
