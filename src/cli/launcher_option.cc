#include "cli/launcher_option.h"

#include <string_view>

#include <unistd.h>

namespace outpace::cli {

void add_launcher_option(CLI::App& command, std::string& launcher) {
  std::string all;
  for (const std::string& name : launch::launchers()) {
    all += ", " + name;
  }
  command.add_option("--launcher",
                     launcher,
                     "Whose variables give the rank: auto, the first of" + all.substr(1) +
                         " whose are set; one of these; or none");
}

launch::Variables environment_variables() {
  launch::Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

}  // namespace outpace::cli
