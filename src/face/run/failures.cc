#include "run/failures.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "base/text.h"
#include "run/child_watch.h"

namespace outpace::run {
namespace {

constexpr std::string_view kWorker = "worker ";

// Numbers differ from worker to worker: addresses, ranks, processes.
std::string without_numbers(const std::string& line) {
  std::string text;
  for (const char letter : line) {
    const bool digit = std::isdigit(static_cast<unsigned char>(letter)) != 0;
    if (!digit) {
      text += letter;
    } else if (text.empty() || text.back() != '#') {
      text += '#';
    }
  }
  return text;
}

}  // namespace

std::string shown(const std::string& line) {
  std::string text;
  for (const char letter : line) {
    text += letter == '\t' ? std::string(4, ' ') : std::string(1, letter);
  }
  return printable(text);
}

std::vector<std::string> Failures::failed(const live::ChildEnd& end,
                                          const std::string& again,
                                          const std::string& log) {
  const std::string key = std::to_string(end.code) + " " + without_numbers(end.last_line);
  const auto way = std::ranges::find_if(ways_, [&](const Way& one) { return one.key == key; });
  if (way != ways_.end()) {
    const bool known =
        way->first == end.name || std::ranges::find(way->others, end.name) != way->others.end();
    if (!known) {
      way->others.push_back(end.name);
    }
    return again.empty() ? std::vector<std::string>{}
                         : std::vector<std::string>{in_words(end) + again};
  }
  ways_.push_back({.key = key, .first = end.name, .others = {}});
  if (end.last_lines.size() < 2) {
    return {in_words(end) + again};
  }
  const std::string how = end.code > 128
                              ? end.name + " was ended by signal " + std::to_string(end.code - 128)
                              : end.name + " exited with " + std::to_string(end.code);
  std::vector<std::string> lines{how + again + "; the last lines of " + log + ":"};
  for (const std::string& line : end.last_lines) {
    lines.push_back("  " + shown(line));
  }
  return lines;
}

std::vector<std::string> Failures::folded() const {
  std::vector<std::string> lines;
  for (const Way& way : ways_) {
    if (!way.others.empty()) {
      lines.push_back(workers_in_words(way.others) + " failed in the same way as " + way.first);
    }
  }
  return lines;
}

std::string workers_in_words(const std::vector<std::string>& names) {
  std::set<std::uint64_t> ranks;
  for (const std::string& name : names) {
    if (const auto rank = parse_count(std::string_view(name).substr(kWorker.size()))) {
      ranks.insert(*rank);
    }
  }
  std::vector<std::string> parts;
  for (auto rank = ranks.begin(); rank != ranks.end();) {
    const std::uint64_t first = *rank;
    std::uint64_t last = first;
    for (++rank; rank != ranks.end() && *rank == last + 1; ++rank) {
      last = *rank;
    }
    if (last >= first + 2) {
      parts.push_back(std::to_string(first) + " to " + std::to_string(last));
      continue;
    }
    for (std::uint64_t each = first; each <= last; ++each) {
      parts.push_back(std::to_string(each));
    }
  }
  std::string text = ranks.size() == 1 ? "worker " : "workers ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string mark = i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ";
    text += mark + parts[i];
  }
  return text;
}

}  // namespace outpace::run
