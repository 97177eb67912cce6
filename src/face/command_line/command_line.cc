// Tested by test/program/configuration_test.py (class Precedence).

#include "command_line/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "job/options_page.h"
#include "record/run_directory.h"
#include "run/whole_file.h"
#include "wire/environment.h"

namespace outpace::command_line {
namespace {

std::string flags_of(const job::Option& option) {
  if (option.is_positional()) {
    return option.name();
  }
  const std::string letter =
      option.letter() == '\0' ? "" : std::string("-") + option.letter() + ",";
  return letter + "--" + option.name();
}

void bind_option(const job::Option& option, CLI::App& command) {
  if (option.takes_no_word()) {
    const std::string usual = option.is_flag() ? "" : job::default_in_words(option);
    const std::string help = option.help() + (usual.empty() ? "" : " (default: " + usual + ")");
    command.add_flag(flags_of(option), help);
    return;
  }
  const std::string usual = job::default_in_words(option);
  CLI::Option* added = command.add_option(
      flags_of(option),
      [](const CLI::results_t&) { return true; },
      option.help() + (usual.empty() ? "" : " (default: " + usual + ")"));
  added->type_name(option.type());
  if (option.is_repeatable()) {
    added->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
  } else {
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // More than one is refused later.
  }
  if (option.is_required()) {
    added->type_name(option.type() + " (required)");
  }
}

const CLI::Option* bound(const CLI::App& command, const job::Option& option) {
  return command.get_option_no_throw(option.is_positional() ? option.name() : "--" + option.name());
}

std::vector<job::Given> from_words(const CLI::App& command, const job::OptionList& options) {
  std::vector<job::Given> layer;
  for (const job::Option& option : options.all()) {
    const CLI::Option* found = bound(command, option);
    if (found == nullptr || found->count() == 0) {
      continue;
    }
    if (found->count() > 1 && !option.is_repeatable() && !option.takes_no_word()) {
      throw usage_error(option.title() + " is given twice on the command line");
    }
    std::vector<std::string> values = found->results();
    if (option.is_positional() && option.is_repeatable() && values.front() == "--") {
      values.erase(values.begin());  // As parse_words() put it there.
    }
    if (option.takes_no_word()) {  // The last one counts: --json --json=false.
      values = {values.back().empty() ? "true" : values.back()};
    }
    layer.push_back({option.name(), std::move(values), job::kCommandLine});
  }
  return layer;
}

// The value of --config or --resolved; empty if it is not given.
std::string file_of(const CLI::App& command, const char* option) {
  const CLI::Option* found = command.get_option_no_throw(std::string("--") + option);
  return found == nullptr || found->count() == 0 ? "" : found->results().front();
}

}  // namespace

void bind(const job::OptionList& options, CLI::App& command) {
  command
      .add_option(
          std::string("--") + kConfigOption,
          [](const CLI::results_t&) { return true; },
          "TOML file with any of these options")
      ->type_name("FILE");
  command
      .add_option(
          std::string("--") + kResolvedOption,
          [](const CLI::results_t&) { return true; },
          "TOML file with the values to use, such as a run's config.toml; the environment does not "
          "count")
      ->type_name("FILE");
  for (const job::Option& option : options.all()) {
    bind_option(option, command);
  }
}

std::vector<std::string> join_values(const std::vector<std::string>& words,
                                     const job::OptionList& options) {
  std::vector<std::string> joined;
  bool may_be_bare = false;  // The last word is an option that waits for its value.
  const job::Option* option = nullptr;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--") {
      joined.insert(joined.end(), word, words.end());
      break;
    }
    // "true" is what the option alone stands for, and may be a command's name.
    if (may_be_bare && !word->starts_with('-') && *word != "true" && option->takes_text(*word)) {
      joined.back() += "=" + *word;
      may_be_bare = false;
      continue;
    }
    option = word->starts_with("--") ? options.find(word->substr(2)) : nullptr;
    may_be_bare = option != nullptr && option->takes_no_word() && !option->is_flag();
    joined.push_back(*word);
  }
  return joined;
}

void check_words(const std::vector<std::string>& words,
                 const std::string& program,
                 const job::OptionList& options) {
  const std::string& command = words.front();
  std::vector<std::string> known{"--help", "--config", "--resolved"};
  for (const std::string& name : options.names()) {
    known.push_back("--" + name);
  }
  for (const std::string& word : words) {
    if (word == "--") {
      return;  // What follows is no option of ours.
    }
    const std::string option = word.substr(0, word.find('='));
    if (word.starts_with("--") && word.size() > 2 &&
        std::ranges::find(known, option) == known.end()) {
      const std::string near = nearest(option, known);
      throw usage_error(
          near.empty()
              ? fmt::format(
                    "{0}: unknown option '{1}'; see {2} {0} --help", command, option, program)
              : fmt::format("{}: unknown option '{}'; did you mean '{}'?", command, option, near));
    }
  }
}

void set_options(const CLI::App& command,
                 Variables variables,
                 const std::vector<std::string>& known_elsewhere,
                 job::OptionList& options) {
  std::vector<std::vector<job::Given>> layers;
  const job::Option* const resume = options.find(kResumeOption);
  const bool resumes = resume != nullptr && !resume->is_flag();
  if (const std::string run = resumes ? file_of(command, kResumeOption) : ""; !run.empty()) {
    const std::string path = record::RunDirectory::open(run).config().string();
    layers.push_back(job::from_toml(run::whole_file(kResumeOption, path), path, options));
    // A run's directory is data: who brings it cannot have a command run. The other is for one
    // time.
    std::erase_if(layers.back(), [](const job::Given& given) {
      return given.option == "on-alarm" || given.option == "begin-again";
    });
  } else if (const std::string path = file_of(command, kResolvedOption); !path.empty()) {
    layers.push_back(job::from_toml(run::whole_file(kResolvedOption, path), path, options));
  } else {
    std::string config = file_of(command, kConfigOption);
    if (const auto found = variables.find(job::variable_of(kConfigOption));
        config.empty() && found != variables.end()) {
      config = found->second;
    }
    variables.erase(job::variable_of(kConfigOption));
    if (!config.empty()) {
      layers.push_back(job::from_toml(run::whole_file(kConfigOption, config), config, options));
    }
    layers.push_back(job::from_environment(variables, options, known_elsewhere));
  }
  layers.push_back(from_words(command, options));
  job::set_layers(options, layers);
  options.check_required(command.get_name());
}

void parse_words(CLI::App& app, std::vector<std::string> words) {
  // A word more before "--": CLI11 would take "--" as the end of a list that a repeatable option
  // began, and what follows for options again.
  if (const auto mark = std::ranges::find(words, "--"); mark != words.end()) {
    words.insert(mark, "--");
  }
  std::reverse(words.begin(), words.end());  // CLI11 takes its vector from the back.
  try {
    app.parse(words);
  } catch (const CLI::Success&) {
    throw;  // --help and --version.
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what());
  }
}

}  // namespace outpace::command_line
