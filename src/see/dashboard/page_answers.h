// What the page's server answers to a request, but for /events, which has no end.

#pragma once

#include <cstddef>
#include <string>

#include <boost/beast/http.hpp>

#include "dashboard/gate.h"
#include "dashboard/page_server.h"
#include "dashboard/wrong_tokens.h"

namespace outpace::dashboard {

using Request = boost::beast::http::request<boost::beast::http::string_body>;
using Response = boost::beast::http::response<boost::beast::http::string_body>;

// What all connections share.
struct Shared {
  PageContent content;
  GateOptions gate;
  WrongTokens wrong{};
  std::size_t readers = 0;  // Connections that read /events.
  std::size_t traces = 0;   // On their way, each of them some megabytes.
};

inline constexpr const char* kEventsPath = "/events";
inline constexpr const char* kTracePath = "/trace.json";

// Looks at the request, which must outlive it.
[[nodiscard]] Asked asked_by(const Request& request);
[[nodiscard]] Response answer(const Request& request, const Asked& asked, const Shared& shared);
[[nodiscard]] Response refuse(const Request& request,
                              boost::beast::http::status status,
                              const std::string& why);

}  // namespace outpace::dashboard
