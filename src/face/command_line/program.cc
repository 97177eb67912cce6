#include "command_line/program.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "command_line/command_line.h"
#include "command_line/options_command.h"
#include "job/options_page.h"
#include "run/side_writer.h"
#include "wire/environment.h"
#include "wire/kept_memory.h"

namespace outpace::command_line {
namespace {

// A command with its options declared.
struct Declared {
  std::unique_ptr<job::OptionList> options;
  Run run;
};

using DeclaredCommands = std::map<std::string, Declared>;

// `pages`: what the command `options` is told.
DeclaredCommands declare_commands(const std::vector<Command>& commands, OptionsJob& pages) {
  DeclaredCommands declared;
  for (const Command& command : commands) {
    const bool is_options = std::string_view(command.name) == kOptions;
    if (command.add == nullptr && !is_options) {
      continue;
    }
    Declared one{.options = std::make_unique<job::OptionList>(), .run = nullptr};
    if (is_options) {
      declare(*one.options, pages);
    } else {
      one.run = command.add(*one.options);
    }
    declared.emplace(command.name, std::move(one));
  }
  return declared;
}

bool gives(std::string_view word, std::string_view option) {
  return word == option || (word.starts_with(option) && word[option.size()] == '=');
}

void check_moved(const Program& program, const std::vector<std::string>& words) {
  for (const Moved& one : program.moved) {
    const std::string option = one.option;
    if (words.front() != one.command) {
      continue;
    }
    if (option.empty()) {
      throw usage_error("'" + words.front() + "' is a command of another program; run " + one.now);
    }
    if (std::ranges::any_of(words, [&](const auto& word) { return gives(word, option); })) {
      throw usage_error(words.front() + ": '" + option + "' is a command of another program; run " +
                        one.now);
    }
  }
}

void check_command(const Program& program, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const Command& command : program.commands) {
    if (!command.hidden) {
      names.emplace_back(command.name);
    }
  }
  if (words.empty()) {
    throw usage_error("a command is missing" + suggestion("", names) + " (" + program.name +
                      " --help)");
  }
  check_moved(program, words);
  if (!words.front().starts_with("-") &&
      std::ranges::find(program.commands, words.front(), &Command::name) ==
          program.commands.end()) {
    throw usage_error("unknown command '" + words.front() + "'" + suggestion(words.front(), names));
  }
}

void print_options(const Program& program,
                   const DeclaredCommands& declared,
                   const OptionsJob& pages) {
  job::ProgramPages all{.name = program.name,
                        .what = program.what,
                        .version = OUTPACE_VERSION,
                        .commands = {},
                        .words_of_type = program.words_of_type};
  std::vector<std::pair<std::string, const job::OptionList*>> lists;
  for (const Command& command : program.commands) {
    const auto found = declared.find(command.name);
    if (found != declared.end() && !command.hidden) {
      if (program.options_by_name) {
        lists.emplace_back(command.name, found->second.options.get());
      } else if (std::string_view(command.name) != kOptions) {  // Its --help says it all.
        lists.emplace_back(program.name + " " + command.name, found->second.options.get());
      }
      all.commands.push_back({command.name, command.what, found->second.options.get()});
    }
  }
  const std::string tables =
      program.options_by_name ? job::options_page(lists) : job::option_tables(lists);
  write_options(pages, all, program.options_head + tables);
}

void add_commands(const Program& program, const DeclaredCommands& declared, CLI::App& app) {
  app.set_version_flag("--version", program.name + " " + OUTPACE_VERSION);
  app.require_subcommand(1);
  for (const Command& command : program.commands) {
    CLI::App* added = app.add_subcommand(command.name, command.what);
    if (command.hidden) {
      added->group("");  // CLI11 then leaves it out of the help.
    }
    if (const auto found = declared.find(command.name); found != declared.end()) {
      bind(*found->second.options, *added);
    }
  }
}

// The options of all commands: a variable may be set for another command than this one.
std::vector<std::string> all_names(const DeclaredCommands& declared) {
  std::vector<std::string> all;
  for (const auto& [name, one] : declared) {
    const std::vector<std::string> names = one.options->names();
    all.insert(all.end(), names.begin(), names.end());
  }
  return all;
}

int run_chosen(const Program& program,
               const DeclaredCommands& declared,
               const OptionsJob& pages,
               const CLI::App& chosen) {
  std::vector<std::string> known = all_names(declared);
  known.insert(known.end(), program.known_elsewhere.begin(), program.known_elsewhere.end());
  const Declared& command = declared.at(chosen.get_name());
  set_options(chosen,
              program.reads_environment ? wire::environment_variables() : Variables{},
              known,
              *command.options);
  if (chosen.get_name() == kOptions) {
    print_options(program, declared, pages);
    return 0;
  }
  return command.run(*command.options);
}

}  // namespace

int run(const Program& program, const std::vector<std::string>& words) {
  check_command(program, words);
  CLI::App app(program.what, program.name);
  OptionsJob pages;
  const DeclaredCommands declared = declare_commands(program.commands, pages);
  add_commands(program, declared, app);
  try {
    std::vector<std::string> joined = words;
    if (const auto found = declared.find(words.front()); found != declared.end()) {
      check_words(words, program.name, *found->second.options);
      joined = join_values(words, *found->second.options);
    }
    parse_words(app, std::move(joined));
    return run_chosen(program, declared, pages, *app.get_subcommands().front());
  } catch (const CLI::Success& success) {
    return app.exit(success);
  }
}

int run_main(const std::string& name, const std::function<int()>& body) {
  // Gradients and weights come and go thousands of times a second: keep their memory.
  wire::keep_large_blocks();
  // A file that would exceed the user's limit is one that cannot be written, as on a full disk.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  // A reader that goes away does not end a run.
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  // Nobody may read it, so the program ends without it in the end. It may quote a file that
  // somebody brought, which shall not control the terminal.
  const auto say = [&name](const std::exception& error) {
    (void)run::print(STDERR_FILENO, name + ": " + printable(error.what()) + "\n");
  };
  try {
    return body();
  } catch (const Error& error) {
    say(error);
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    say(error);
    return 1;
  }
}

}  // namespace outpace::command_line
