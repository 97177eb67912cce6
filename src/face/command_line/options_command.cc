// Tested by src/face/command_line/program_test.cc.

#include "command_line/options_command.h"

#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "job/completions.h"
#include "job/manual_page.h"
#include "record/output_file.h"

namespace outpace::command_line {
namespace {

struct File {
  std::string name;
  std::string text;
};

std::vector<File> manual_pages(const job::ProgramPages& program) {
  std::vector<File> files{{program.name + ".1", manual_page(program)}};
  for (const job::CommandPage& command : program.commands) {
    files.push_back({program.name + "-" + command.name + ".1", manual_page(program, command)});
  }
  return files;
}

// Under the names by which they are found.
std::vector<File> files_of(PageKind kind,
                           const job::ProgramPages& program,
                           const std::string& markdown) {
  switch (kind) {
    case PageKind::kMarkdown:
      return {{program.name + ".md", markdown}};
    case PageKind::kMan:
      return manual_pages(program);
    case PageKind::kBash:
      return {{program.name, bash_completions(program)}};
    case PageKind::kZsh:
      return {{"_" + program.name, zsh_completions(program)}};
    case PageKind::kFish:
      return {{program.name + ".fish", fish_completions(program)}};
  }
  return {};
}

}  // namespace

void declare(job::OptionList& options, OptionsJob& job) {
  options.add(
      "as",
      job.as,
      "markdown: a page of all options. man: manual pages, one for each command. bash, zsh, "
      "fish: what completes a command line of that shell");
  options
      .add("to",
           job.to,
           "Write into this folder, under the names that man and the shells look for; it is made")
      .type("DIR")
      .default_words("print it");
}

void write_options(const OptionsJob& job,
                   const job::ProgramPages& program,
                   const std::string& markdown) {
  const std::vector<File> files = files_of(job.as, program, markdown);
  if (job.to.empty() && files.size() > 1) {
    throw usage_error("--as man writes several files; add --to FOLDER");
  }
  if (job.to.empty()) {
    std::fputs(files.front().text.c_str(), stdout);
    return;
  }
  std::error_code failed;
  std::filesystem::create_directories(job.to, failed);
  if (failed) {
    throw usage_error("--to " + job.to + ": " + failed.message());
  }
  for (const File& file : files) {
    record::write_atomically(std::filesystem::path(job.to) / file.name, file.text);
  }
}

}  // namespace outpace::command_line
