#include "job/options_page.h"

#include <gtest/gtest.h>

namespace outpace::job {
namespace {

TEST(OptionsPage, ShowsEachOptionInATableOfItsCommand) {
  std::uint32_t count = 3;
  std::string file;
  std::optional<double> rate;
  bool fast = false;
  OptionList options;
  options.add("count", count, "How many: 1|2");
  options.add("file", file, "What to read").positional().required().type("FILE");
  options.add("rate", rate, "How fast").letter('r').default_words("as it comes");
  options.add("fast", fast, "Be fast");
  const OptionList none;
  const std::string page = option_tables({{"program sample", &options}, {"program other", &none}});
  EXPECT_EQ(page,
            "\n## program sample\n\n"
            "| option | type | default | what it does |\n"
            "|---|---|---|---|\n"
            "| `--count` | COUNT | 3 | How many: 1\\|2 |\n"
            "| `file` | FILE | required | What to read |\n"
            "| `-r`, `--rate` | NUMBER | as it comes | How fast |\n"
            "| `--fast` | FLAG |  | Be fast |\n"
            "\n## program other\n\nNo options.\n");
}

}  // namespace
}  // namespace outpace::job
