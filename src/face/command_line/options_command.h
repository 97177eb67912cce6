// `PROGRAM options`: what is declared of all commands, as a page of Markdown, as manual pages, or
// as completions for a shell.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "job/option_list.h"
#include "job/program_pages.h"

namespace outpace::command_line {

enum class PageKind : std::uint8_t { kMarkdown, kMan, kBash, kZsh, kFish };

struct OptionsJob {
  PageKind as = PageKind::kMarkdown;
  std::string to;  // A folder.
};
void declare(job::OptionList& options, OptionsJob& job);

// Prints what is asked for, or writes it into the folder under the names that man and the shells
// look for. `markdown`: the page of Markdown. Throws Error.
void write_options(const OptionsJob& job,
                   const job::ProgramPages& program,
                   const std::string& markdown);

}  // namespace outpace::command_line

namespace outpace::job {

template <>
struct Choices<command_line::PageKind> {
  static constexpr std::array<std::pair<std::string_view, command_line::PageKind>, 5> kWords{
      {{"markdown", command_line::PageKind::kMarkdown},
       {"man", command_line::PageKind::kMan},
       {"bash", command_line::PageKind::kBash},
       {"zsh", command_line::PageKind::kZsh},
       {"fish", command_line::PageKind::kFish}}};
};

}  // namespace outpace::job
