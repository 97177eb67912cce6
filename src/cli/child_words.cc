#include "cli/child_words.h"

#include <sstream>
#include <string_view>

namespace outpace::cli {

std::vector<std::string> role_words(const std::string& role,
                                    const JobPlace& place,
                                    const WorkOptions& work) {
  return {"outpace",
          role,
          "--server=" + place.server,
          "--token-file=" + place.token_file,
          "--seed=" + std::to_string(place.seed),
          "--network=" + work.network,
          "--data=" + work.data,
          "--threads=" + std::to_string(work.threads)};
}

std::vector<std::string> prefix_words(const std::string& prefix, std::uint32_t worker) {
  constexpr std::string_view kNumber = "{worker}";
  std::vector<std::string> words;
  std::istringstream in(prefix);
  for (std::string word; in >> word;) {
    for (std::size_t at = word.find(kNumber); at != std::string::npos; at = word.find(kNumber)) {
      word.replace(at, kNumber.size(), std::to_string(worker));
    }
    words.push_back(word);
  }
  return words;
}

void add_delay_words(const WorkOptions& work, std::vector<std::string>& words) {
  words.reserve(words.size() + 4 + work.slow.size());
  if (!work.paced.empty()) {
    words.push_back("--paced=" + work.paced);
  }
  if (!work.delays.empty()) {
    words.push_back("--delays=" + work.delays);
    words.push_back("--delays-by=" + work.delays_by);
    words.push_back("--delays-period=" + work.delays_period);
  }
  for (const std::string& slow : work.slow) {
    words.push_back("--slow=" + slow);
  }
}

std::string without_prefix(const std::string& line) {
  constexpr std::string_view kPrefix = "outpace: ";
  return line.starts_with(kPrefix) ? line.substr(kPrefix.size()) : line;
}

}  // namespace outpace::cli
