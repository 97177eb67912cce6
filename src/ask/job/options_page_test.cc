#include "job/options_page.h"

#include <gtest/gtest.h>

namespace outpace::job {
namespace {

TEST(OptionsPage, ShowsEachOptionInOneTableByName) {
  std::uint32_t count = 3;
  std::string file;
  std::optional<double> rate;
  bool fast = false;
  OptionList options;
  options.add("rate", rate, "How fast").letter('r').default_words("as it comes");
  options.add("count", count, "How many: 1|2");
  options.add("file", file, "What to read").positional().required().type("FILE");
  options.add("fast", fast, "Be fast");
  const OptionList none;
  const std::string page = options_page({{"sample", &options}, {"other", &none}});
  EXPECT_NE(page.find("\n## Options\n\n"
                      "| option | commands | type | default | what it does |\n"
                      "|---|---|---|---|---|\n"
                      "| `--count` | sample | COUNT | 3 | How many: 1\\|2 |\n"
                      "| `--fast` | sample | FLAG |  | Be fast |\n"
                      "| `-r`, `--rate` | sample | NUMBER | as it comes | How fast |\n"
                      "\n## Arguments\n\n"
                      "| argument | commands | type | default | what it does |\n"
                      "|---|---|---|---|---|\n"
                      "| `file` | sample | FILE | required | What to read |\n"),
            std::string::npos)
      << page;
}

TEST(OptionsPage, ListsAnOptionOnceForAllCommandsThatMeanTheSameByIt) {
  std::uint32_t few = 3;
  std::uint32_t many = 8;
  OptionList train;
  train.add("count", few, "How many");
  OptionList simulate;
  simulate.add("count", many, "How many");
  OptionList predict;
  predict.add("count", few, "How many to predict");
  const std::string page = options_page(
      {{"train", &train}, {"simulate", &simulate}, {"predict", &predict}, {"run", &train}});
  EXPECT_NE(page.find("|---|---|---|---|---|\n"
                      "| `--count` | train, run | COUNT | 3 | How many |\n"
                      "| `--count` | simulate | COUNT | 8 | How many |\n"
                      "| `--count` | predict | COUNT | 3 | How many to predict |\n"),
            std::string::npos)
      << page;
}

}  // namespace
}  // namespace outpace::job
