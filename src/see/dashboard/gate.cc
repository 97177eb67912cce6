#include "dashboard/gate.h"

#include <cstddef>
#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "base/local_address.h"

namespace outpace::dashboard {
namespace {

constexpr std::string_view kBearer = "Bearer ";

// Without the port; all of it if what follows the name is none.
std::string_view name_of(std::string_view host) {
  const std::size_t end = host.starts_with('[') ? host.find(']') + 1 : host.find(':');
  if (end >= host.size()) {
    return host;
  }
  return host[end] == ':' && is_port(host.substr(end + 1)) ? host.substr(0, end) : host;
}

bool names_this_machine(std::string_view host) {
  const std::string_view name = name_of(host);
  return name != "unix" &&
         is_local(std::string(name) + ":0");  // "unix:0" would be a socket's path.
}

bool is_own(const Asked& asked) {
  if (!asked.fetch_site.empty() && asked.fetch_site != "same-origin" &&
      asked.fetch_site != "none") {
    return false;
  }
  if (asked.origin.empty()) {
    return true;
  }
  const std::size_t scheme = asked.origin.find("://");
  return scheme != std::string_view::npos && asked.origin.substr(scheme + 3) == asked.host;
}

bool has_pass(std::string_view cookies, const GateOptions& options) {
  while (!cookies.empty()) {
    const std::size_t end = cookies.find(';');
    std::string_view one = cookies.substr(0, end);
    one.remove_prefix(one.find_first_not_of(' ') == std::string_view::npos
                          ? one.size()
                          : one.find_first_not_of(' '));
    const std::size_t equals = one.find('=');
    if (equals != std::string_view::npos && one.substr(0, equals) == options.cookie &&
        same_secret(one.substr(equals + 1), options.pass)) {
      return true;
    }
    cookies.remove_prefix(end == std::string_view::npos ? cookies.size() : end + 1);
  }
  return false;
}

}  // namespace

std::string token_of_form(std::string_view body) {
  constexpr std::string_view kField = "token=";
  std::string token;
  if (body.starts_with(kField)) {
    body.remove_prefix(kField.size());
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (body[i] == '%' && i + 2 < body.size()) {
        token +=
            static_cast<char>(std::strtol(std::string(body.substr(i + 1, 2)).c_str(), nullptr, 16));
        i += 2;
      } else {
        token += body[i];
      }
    }
  }
  return token;
}

std::string draw_pass() {
  std::random_device device;
  std::string pass;
  for (int i = 0; i < 8; ++i) {
    pass += fmt::format("{:08x}", device());
  }
  return pass;
}

bool same_secret(std::string_view one, std::string_view other) {
  unsigned char differs = one.size() == other.size() ? 0 : 1;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const char against = i < other.size() ? other[i] : '\0';
    differs = static_cast<unsigned char>(differs | static_cast<unsigned char>(one[i] ^ against));
  }
  return differs == 0;
}

std::optional<std::string> token_shown(const Asked& asked, std::string_view body) {
  if (asked.method == "POST" && asked.path == kLoginPath) {
    return token_of_form(body);
  }
  if (asked.authorization.starts_with(kBearer)) {
    return std::string(asked.authorization.substr(kBearer.size()));
  }
  return std::nullopt;
}

Entry look_at(const Asked& asked, const GateOptions& options) {
  const bool logs_in = !options.local && asked.method == "POST" && asked.path == kLoginPath;
  if (asked.method != "GET" && asked.method != "HEAD" && !logs_in) {
    return Entry::kNoSuchWay;
  }
  if ((options.local && !names_this_machine(asked.host)) || !is_own(asked)) {
    return Entry::kForeign;
  }
  if (options.local || logs_in || asked.path == "/healthz") {
    return Entry::kOpen;
  }
  const bool bears = asked.authorization.starts_with(kBearer) &&
                     same_secret(asked.authorization.substr(kBearer.size()), options.token);
  return bears || has_pass(asked.cookie, options) ? Entry::kOpen : Entry::kLocked;
}

}  // namespace outpace::dashboard
