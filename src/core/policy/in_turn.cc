#include "policy/in_turn.h"

namespace outpace::policy {

std::string in_turn(std::string names, std::string_view next) {
  constexpr std::string_view kThen = ", then ";
  constexpr std::string_view kOthers = ", then others";
  const std::size_t last = names.rfind(kThen);
  const std::string_view newest =
      std::string_view(names).substr(last == std::string::npos ? 0 : last + kThen.size());
  if (newest == next) {
    return names;
  }
  const std::size_t first = names.find(kThen);
  if (first != std::string::npos && names.find(kThen, first + 1) != std::string::npos) {
    names.resize(first);
    names += kOthers;
  }
  return names.append(kThen).append(next);
}

}  // namespace outpace::policy
