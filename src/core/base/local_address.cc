#include "base/local_address.h"

#include <cstdint>

#include "base/text.h"

namespace outpace {

bool is_local(std::string_view address) {
  if (address.starts_with("unix:")) {
    return true;
  }
  const std::string_view host = address.substr(0, address.rfind(':'));
  // Numbers alone: 127.example.org is a name, and of any machine.
  const bool loopback =
      host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos;
  return loopback || host == "localhost" || host == "[::1]";
}

bool is_port(std::string_view text) {
  constexpr std::uint64_t kLast = 65'535;
  const auto number = parse_count(text);
  return number && *number <= kLast;
}

}  // namespace outpace
