// What real shells make of these scripts: test/program/completions_test.py.

#include "job/completions.h"

#include <gtest/gtest.h>

#include "job/live_job.h"

namespace outpace::job {
namespace {

class Completions : public testing::Test {
 protected:
  Completions() {
    options_.add("topology", topology_, "ps: a server. ring, gossip: none");
    options_.add("policy", policy_, "It's [the] policy").type("POLICY").letter('p');
    options_.add("file", file_, "A file").type("FILE");
    options_.add("lr", rate_, "Learning rate");
    options_.add("quiet", quiet_, "Say nothing");
    options_.add("run", run_, "Directory of the run").type("RUN").positional().required();
    program_.commands = {{"show", "Show a run: all of it", &options_}};
  }

  Topology topology_ = Topology::kServer;
  std::string policy_;
  std::string file_;
  double rate_ = 0.1;
  bool quiet_ = false;
  std::string run_;
  OptionList options_;
  ProgramPages program_{.name = "sample",
                        .what = "Sample: a program",
                        .version = "1",
                        .commands = {},
                        .words_of_type = {{"POLICY", {"async", "sync"}}}};
};

TEST_F(Completions, OfBashHaveACaseForEachCommand) {
  const std::string script = bash_completions(program_);
  for (const char* const line :
       {"    show)\n",
        "        --lr) COMPREPLY=(); return ;;\n",
        "        --policy|-p) COMPREPLY=($(compgen -W 'async sync' -- \"$cur\")); return ;;\n",
        "        --topology) COMPREPLY=($(compgen -W 'ps ring gossip' -- \"$cur\")); return ;;\n",
        "compgen -W '--topology --policy --file --lr --quiet' -- \"$cur\"",
        "complete -F _sample sample\n"}) {
    EXPECT_NE(script.find(line), std::string::npos) << line << script;
  }
}

TEST_F(Completions, OfZshSayWhatAnOptionDoes) {
  const std::string script = zsh_completions(program_);
  for (const char* const line : {"  'show:Show a run'\n",
                                 "'--topology=[ps]:WORD:(ps ring gossip)'",
                                 "'-p[It'\\''s \\[the\\] policy]:POLICY:(async sync)'",
                                 "'--file=[A file]:FILE:_files'",
                                 "'--quiet[Say nothing]'",
                                 "':RUN:_files -/'"}) {
    EXPECT_NE(script.find(line), std::string::npos) << line << script;
  }
}

TEST_F(Completions, OfFishAreALineForEachOption) {
  const std::string script = fish_completions(program_);
  for (const char* const line :
       {"complete -c sample -f -n __fish_use_subcommand -a show -d 'Show a run'\n",
        " -s p -l policy -x -a 'async sync' -d 'It\\'s [the] policy'\n",
        " -l file -r -F -d 'A file'\n",
        " -l quiet -d 'Say nothing'\n",
        " -a '(__fish_complete_directories)'\n"}) {
    EXPECT_NE(script.find(line), std::string::npos) << line << script;
  }
}

}  // namespace
}  // namespace outpace::job
