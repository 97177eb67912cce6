// Tested by test/program/dashboard_test.py (class Page).

#include "dashboard/page_answers.h"

#include <string_view>

#include <boost/beast/core.hpp>
#include <fmt/format.h>

#include "dashboard/page_files.h"
#include "watch/metrics_text.h"

namespace outpace::dashboard {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

// Nothing but this server's own files may run or be shown, and no other page may show this one.
constexpr const char* kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
    "data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

constexpr std::string_view kLoginPage =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Outpace</title>"
    "<meta name=\"viewport\" content=\"width=device-width\"><link rel=\"stylesheet\" "
    "href=\"/page.css\"><main class=\"login\"><h1>Outpace</h1><form method=\"post\" "
    "action=\"/login\"><label>The page's token <input name=\"token\" type=\"password\" "
    "autocomplete=\"off\" autofocus></label> <button>Open</button></form></main></html>";

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

Response make_response(const Request& request,
                       http::status status,
                       std::string_view type,
                       std::string_view body) {
  Response response{status, request.version()};
  response.set(http::field::content_type, beast::string_view(type.data(), type.size()));
  response.set(http::field::cache_control, "no-store");
  response.set("Content-Security-Policy", kContentPolicy);
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  // With "no-referrer" a browser would send the login with the Origin "null", as another site's.
  response.set("Referrer-Policy", "same-origin");
  response.keep_alive(request.keep_alive());
  response.body() = std::string(request.method() == http::verb::head ? std::string_view() : body);
  response.prepare_payload();
  return response;
}

Response log_in(const Request& request, const Shared& shared) {
  if (!same_secret(token_of_form(request.body()), shared.gate.token)) {
    return refuse(request, http::status::unauthorized, "this is not the page's token");
  }
  Response response = make_response(request, http::status::see_other, "text/plain", "");
  response.set(http::field::location, "/");
  response.set(http::field::set_cookie,
               fmt::format("{}={}; HttpOnly; Secure; SameSite=Strict; Path=/",
                           shared.gate.cookie,
                           shared.gate.pass));
  return response;
}

}  // namespace

Asked asked_by(const Request& request) {
  const std::string_view target = view(request.target());
  return {.method = view(request.method_string()),
          .path = target.substr(0, target.find('?')),
          .host = view(request[http::field::host]),
          .origin = view(request[http::field::origin]),
          .fetch_site = view(request["Sec-Fetch-Site"]),
          .authorization = view(request[http::field::authorization]),
          .cookie = view(request[http::field::cookie])};
}

Response refuse(const Request& request, http::status status, const std::string& why) {
  return make_response(request, status, "text/plain; charset=utf-8", why + "\n");
}

Response answer(const Request& request, const Asked& asked, const Shared& shared) {
  switch (look_at(asked, shared.gate)) {
    case Entry::kForeign:
      return refuse(request,
                    http::status::forbidden,
                    "this request comes from another site, or names another host than localhost");
    case Entry::kNoSuchWay:
      return refuse(request, http::status::method_not_allowed, "only GET; nothing changes by HTTP");
    case Entry::kLocked:
      if (asked.path == "/page.css") {
        break;  // It says nothing of the job.
      }
      if (asked.path == "/") {
        return make_response(
            request, http::status::unauthorized, "text/html; charset=utf-8", kLoginPage);
      }
      return refuse(request,
                    http::status::unauthorized,
                    "this takes the page's token: Authorization: Bearer TOKEN");
    case Entry::kOpen:
      break;
  }
  if (asked.path == kLoginPath && request.method() == http::verb::post) {
    return log_in(request, shared);
  }
  if (asked.path == "/metrics") {
    return make_response(request, http::status::ok, watch::kMetricsType, shared.content.metrics());
  }
  if (asked.path == kTracePath) {
    Response response =
        make_response(request, http::status::ok, "application/json", shared.content.trace());
    response.set(http::field::content_disposition, "attachment; filename=\"outpace-trace.json\"");
    return response;
  }
  if (asked.path == "/healthz") {
    return make_response(request, http::status::ok, "text/plain; charset=utf-8", "ok\n");
  }
  if (const PageFile* file = find_page_file(asked.path)) {
    return make_response(request, http::status::ok, file->type, file->body);
  }
  return refuse(request,
                http::status::not_found,
                "no such page; there are /, /events, /metrics, /trace.json and /healthz");
}

}  // namespace outpace::dashboard
