#include "job/manual_page.h"

#include <algorithm>
#include <cctype>

#include "job/layers.h"
#include "job/options_page.h"

namespace outpace::job {
namespace {

constexpr const char* kPrecedence =
    "A value comes from, in increasing order of precedence: the default, the TOML file of "
    "--config, the environment, the command line. The variable of --some-option is "
    "OUTPACE_SOME_OPTION.";

// As roff prints it letter by letter. A point or a quote at the begin of a line would be a macro.
std::string roff(const std::string& text) {
  std::string escaped;
  bool begins = true;
  for (const char letter : text) {
    if (begins && (letter == '.' || letter == '\'')) {
      escaped += "\\&";
    }
    begins = letter == '\n';
    if (letter == '\\') {
      escaped += "\\e";
    } else if (letter == '-') {
      escaped += "\\-";
    } else {
      escaped += letter;
    }
  }
  return escaped;
}

std::string in_capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  return text;
}

std::string page_head(const ProgramPages& program,
                      const std::string& title,
                      const std::string& what) {
  return ".\\\" Written by `" + program.name + " options --as man`.\n.TH " +
         roff(in_capitals(title)) + " 1 \"\" \"" + roff(program.name + " " + program.version) +
         "\" \"\"\n.SH NAME\n" + roff(title) + " \\- " + roff(what) + "\n.SH SYNOPSIS\n";
}

std::string option_entry(const Option& option) {
  std::string title = "\\fB" + roff(option.title()) + "\\fR";
  if (option.letter() != '\0') {
    title = "\\fB\\-" + std::string(1, option.letter()) + "\\fR, " + title;
  }
  if (!option.is_flag() && !option.is_positional()) {
    title += " \\fI" + roff(option.type()) + "\\fR";
  }
  const std::string usual = default_in_words(option);
  std::string text = ".TP\n" + title + "\n" + roff(option.help());
  if (option.is_required()) {
    text += " (required)";
  } else if (!usual.empty()) {
    text += " (default: " + roff(usual) + ")";
  }
  return text + "\n";
}

std::string options_section(const OptionList& options, const std::string& title, bool positional) {
  std::string text;
  for (const Option& option : options.all()) {
    text += option.is_positional() == positional ? option_entry(option) : "";
  }
  return text.empty() ? "" : ".SH " + title + "\n" + text;
}

}  // namespace

std::string manual_page(const ProgramPages& program, const CommandPage& command) {
  std::string page = page_head(program, program.name + "-" + command.name, command.what);
  page += "\\fB" + roff(program.name + " " + command.name) + "\\fR [\\fIOPTION\\fR]...";
  for (const Option& option : command.options->all()) {
    if (option.is_positional()) {
      const std::string words = "\\fI" + roff(option.type()) + "\\fR";
      page += option.is_required() ? " " + words : " [" + words + "]";
      page += option.is_repeatable() ? "..." : "";
    }
  }
  page += "\n" + options_section(*command.options, "ARGUMENTS", /*positional=*/true) +
          options_section(*command.options, "OPTIONS", /*positional=*/false);
  return page + ".SH VALUES\n" + roff(kPrecedence) + "\n.SH SEE ALSO\n\\fB" + roff(program.name) +
         "\\fR(1)\n";
}

std::string manual_page(const ProgramPages& program) {
  const std::string first = program.what.substr(0, program.what.find('\n'));
  const std::size_t colon = first.find(": ");
  std::string page = page_head(
      program, program.name, colon == std::string::npos ? first : first.substr(colon + 2));
  page += "\\fB" + roff(program.name) + "\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n" +
          ".SH DESCRIPTION\n" + roff(program.what) + "\n.SH COMMANDS\n";
  for (const CommandPage& command : program.commands) {
    page += ".TP\n\\fB" + roff(command.name) + "\\fR\n" + roff(command.what) + "; see \\fB" +
            roff(program.name + "-" + command.name) + "\\fR(1)\n";
  }
  return page + ".SH VALUES\n" + roff(kPrecedence) + "\n";
}

}  // namespace outpace::job
