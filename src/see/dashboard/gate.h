// Which HTTP requests are answered: none of another site's page, and none without the token where a
// token is asked for.
//
// A browser that a stranger's page drives can reach a port of this machine. It is kept out by the
// Host that it names (DNS rebinding), by its Origin and by Sec-Fetch-Site (CSRF).

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outpace::dashboard {

struct Asked {
  std::string_view method;
  std::string_view path;  // Without a query.
  std::string_view host;
  std::string_view origin;  // Empty: not given, as the next ones.
  std::string_view fetch_site;
  std::string_view authorization;
  std::string_view cookie;
};

struct GateOptions {
  bool local = true;       // Only this machine can connect: no token is asked for.
  std::string token = {};  // The page's.
  std::string pass = {};   // What a browser gets for the token, as a cookie
  // of this name. A server adds its port: browsers send a cookie to all ports of its host.
  std::string cookie = "outpace_pass";
};

enum class Entry {
  kOpen,
  kForeign,    // 403: it comes from another site's page.
  kNoSuchWay,  // 405: the method.
  kLocked,     // 401: it takes the token.
};

inline constexpr const char* kLoginPath = "/login";

[[nodiscard]] Entry look_at(const Asked& asked, const GateOptions& options);

// The form's one field, "token=...". A token has no letter that a form would write otherwise but
// those of base64.
[[nodiscard]] std::string token_of_form(std::string_view body);

// The token that a request brings, right or wrong; nothing: none.
[[nodiscard]] std::optional<std::string> token_shown(const Asked& asked, std::string_view body);

// What a browser gets for the token: 256 bits that nobody can guess.
[[nodiscard]] std::string draw_pass();

// Equal, found in a time that depends on the lengths alone.
[[nodiscard]] bool same_secret(std::string_view one, std::string_view other);

}  // namespace outpace::dashboard
