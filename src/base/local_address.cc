#include "base/local_address.h"

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

}  // namespace outpace
