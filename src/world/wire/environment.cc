#include "wire/environment.h"

#include <set>

#include <unistd.h>

namespace outpace::wire {

std::map<std::string, std::string, std::less<>> environment_variables() {
  std::map<std::string, std::string, std::less<>> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

std::vector<std::string> environment_with(
    const std::vector<std::string>& changes,
    const std::function<bool(std::string_view name)>& goes_on) {
  std::set<std::string, std::less<>> changed;
  std::vector<std::string> all;
  for (const std::string& change : changes) {
    changed.insert(change.substr(0, change.find('=')));
    if (change.find('=') != std::string::npos) {
      all.push_back(change);
    }
  }
  for (const auto& [name, value] : environment_variables()) {
    if (!changed.contains(name) && (!goes_on || goes_on(name))) {
      all.emplace_back(name).append("=").append(value);
    }
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace outpace::wire
