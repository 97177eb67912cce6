#include "job/completions.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace outpace::job {
namespace {

constexpr std::size_t kShort = 72;  // Letters of what is said beside an option.

// What stands behind an option, or in its place.
enum class Takes : std::uint8_t { kNone, kWords, kFile, kFolder, kOther };

struct Completed {
  Takes value;
  std::vector<std::string> words{};
};

Completed completed(const ProgramPages& program, const Option& option) {
  constexpr std::array<std::string_view, 3> kFolders{"DIR", "FOLDER", "RUN"};
  constexpr std::array<std::string_view, 3> kFiles{"FILE", "FILES", "PROGRAM"};
  if (option.is_flag()) {
    return {Takes::kNone};
  }
  const auto known = program.words_of_type.find(option.type());
  if (known != program.words_of_type.end()) {
    return {Takes::kWords, known->second};
  }
  if (!option.words().empty()) {
    return {Takes::kWords, option.words()};
  }
  const auto is_one_of = [&](const auto& types) {
    return std::ranges::find(types, option.type()) != types.end();
  };
  return {is_one_of(kFolders) ? Takes::kFolder : is_one_of(kFiles) ? Takes::kFile : Takes::kOther};
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : between) + word;
  }
  return text;
}

// With each of these letters after a backslash.
std::string escaped(const std::string& text, std::string_view letters) {
  std::string result;
  for (const char letter : text) {
    result += letters.find(letter) == std::string_view::npos ? "" : "\\";
    result += letter;
  }
  return result;
}

// Within single quotes of bash and zsh.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    result += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return "'" + result + "'";
}

std::string first_line(const ProgramPages& program, const std::string& shell) {
  return "# Written by `" + program.name + " options --as " + shell + "`.\n";
}

std::string names_of(const ProgramPages& program) {
  std::string names;
  for (const CommandPage& command : program.commands) {
    names += (names.empty() ? "" : " ") + command.name;
  }
  return names;
}

// ---- bash ---------------------------------------------------------------------------------------

std::string bash_reply(const Completed& what) {
  switch (what.value) {
    case Takes::kWords:
      return "COMPREPLY=($(compgen -W " + quoted(joined(what.words, " ")) + " -- \"$cur\"))";
    case Takes::kFile:
      return "compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -f -- \"$cur\"))";
    case Takes::kFolder:
      return "compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -d -- \"$cur\"))";
    case Takes::kNone:
    case Takes::kOther:
      break;
  }
  return "COMPREPLY=()";
}

// The case of one command: the value of the option before, an option, or an argument.
std::string bash_case(const ProgramPages& program, const CommandPage& command) {
  std::map<std::string, std::vector<std::string>> options_by_reply;
  std::vector<std::string> names;
  Completed argument{Takes::kFile};
  for (const Option& option : command.options->all()) {
    const Completed what = completed(program, option);
    if (option.is_positional()) {
      argument = what.value == Takes::kOther ? argument : what;
      continue;
    }
    names.push_back(option.title());
    if (!option.takes_no_word()) {
      std::vector<std::string>& same = options_by_reply[bash_reply(what)];
      same.push_back(option.title());
      if (option.letter() != '\0') {
        same.push_back(std::string("-") + option.letter());
      }
    }
  }
  std::string text = "    " + command.name + ")\n      case \"$prev\" in\n";
  for (const auto& [reply, options] : options_by_reply) {
    text += "        " + joined(options, "|") + ") " + reply + "; return ;;\n";
  }
  return text + "      esac\n      if [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W " +
         quoted(joined(names, " ")) + " -- \"$cur\"))\n      else\n        " +
         bash_reply(argument) + "\n      fi\n      ;;\n";
}

// ---- zsh ----------------------------------------------------------------------------------------

constexpr const char* kNextOption = " \\\n        ";

std::string zsh_action(const Completed& what) {
  switch (what.value) {
    case Takes::kWords:
      return "(" + escaped(joined(what.words, " "), ":") + ")";
    case Takes::kFile:
      return "_files";
    case Takes::kFolder:
      return "_files -/";
    case Takes::kNone:
    case Takes::kOther:
      break;
  }
  return "";
}

std::string zsh_option(const ProgramPages& program, const Option& option) {
  const Completed what = completed(program, option);
  const std::string value = ":" + escaped(option.type(), ":") + ":" + zsh_action(what);
  const std::string more = option.is_repeatable() ? "*" : "";
  if (option.is_positional()) {
    return quoted(more + value);
  }
  const std::string said = "[" + escaped(in_short(option.help(), kShort), "[]\\:") + "]";
  if (option.is_flag()) {
    return quoted(more + option.title() + said);
  }
  if (option.takes_no_word()) {
    return quoted(more + option.title() + "=-" + said + ":" + value);
  }
  const std::string letter =
      option.letter() == '\0' ? ""
                              : quoted(more + "-" + option.letter() + said + value) + kNextOption;
  return letter + quoted(more + option.title() + "=" + said + value);
}

// ---- fish ---------------------------------------------------------------------------------------

std::string fish_quoted(const std::string& text) {
  return "'" + escaped(text, "'\\") + "'";
}

std::string fish_value(const Completed& what) {
  switch (what.value) {
    case Takes::kWords:
      return " -x -a " + fish_quoted(joined(what.words, " "));
    case Takes::kFile:
      return " -r -F";
    case Takes::kFolder:
      return " -x -a '(__fish_complete_directories)'";
    case Takes::kOther:
      return " -x";
    case Takes::kNone:
      break;
  }
  return "";
}

std::string fish_option(const std::string& begin,
                        const ProgramPages& program,
                        const Option& option) {
  const Completed what = completed(program, option);
  if (option.is_positional()) {
    return what.value == Takes::kFolder ? begin + " -a '(__fish_complete_directories)'\n" : "";
  }
  const std::string letter = option.letter() == '\0' ? "" : std::string(" -s ") + option.letter();
  return begin + letter + " -l " + option.name() +
         (option.takes_no_word() ? "" : fish_value(what)) + " -d " +
         fish_quoted(in_short(option.help(), kShort)) + "\n";
}

}  // namespace

std::string bash_completions(const ProgramPages& program) {
  const std::string name = "_" + program.name;
  std::string text = first_line(program, "bash") + name + R"(() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i
  # bash takes "--policy=sync" for three words.
  if [[ $cur == = ]]; then
    cur=""
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      compopt -o filenames 2> /dev/null
      if ((i == COMP_CWORD - 1)); then COMPREPLY=($(compgen -c -- "$cur")); fi
      COMPREPLY+=($(compgen -f -- "$cur"))
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W ")" +
                     names_of(program) + R"( --help --version" -- "$cur"))
    return
  fi
  case "${COMP_WORDS[1]}" in
)";
  for (const CommandPage& command : program.commands) {
    text += bash_case(program, command);
  }
  return text + "  esac\n}\ncomplete -F " + name + " " + program.name + "\n";
}

std::string zsh_completions(const ProgramPages& program) {
  std::string text = "#compdef " + program.name + "\n" + first_line(program, "zsh") +
                     "local -a commands\ncommands=(\n";
  for (const CommandPage& command : program.commands) {
    text += "  " + quoted(command.name + ":" + escaped(in_short(command.what, kShort), ":")) + "\n";
  }
  text += R"()
if (( CURRENT == 2 )); then
  _describe command commands
  return
fi
local dashes=${words[(i)--]}
if (( dashes < CURRENT )); then
  shift $dashes words
  (( CURRENT -= dashes ))
  _normal
  return
fi
shift words
(( CURRENT -= 1 ))
case $words[1] in
)";
  for (const CommandPage& command : program.commands) {
    text += "  " + command.name + ")\n    _arguments";
    for (const Option& option : command.options->all()) {
      text += kNextOption + zsh_option(program, option);
    }
    text += "\n    ;;\n";
  }
  return text + "esac\n";
}

std::string fish_completions(const ProgramPages& program) {
  const std::string begin = "complete -c " + program.name;
  std::string text = first_line(program, "fish");
  for (const CommandPage& command : program.commands) {
    text += begin + " -f -n __fish_use_subcommand -a " + command.name + " -d " +
            fish_quoted(in_short(command.what, kShort)) + "\n";
  }
  for (const CommandPage& command : program.commands) {
    const std::string of_command = begin + " -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const Option& option : command.options->all()) {
      text += fish_option(of_command, program, option);
    }
  }
  return text;
}

}  // namespace outpace::job
