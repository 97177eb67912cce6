// Serves a run's page, its events and its metrics over HTTP, by Boost.Beast, on one thread for all
// connections.
//
//   /         the page, and what belongs to it      /metrics  for Prometheus
//   /events   what is new, twice a second (SSE)     /healthz  "ok"
//   /trace.json  the newest decisions as a Chrome trace, for ui.perfetto.dev
//
// Connections are bounded in number. One that does not finish its request in time is closed, and
// when there is no room for another, the one that has waited longest without a request goes.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "watch/board_json.h"

namespace outpace::dashboard {

inline constexpr std::size_t kPageTokenLeast = 16;  // Characters.

struct PageOptions {
  std::string listen = "127.0.0.1:0";  // HOST:PORT; port 0 takes a free one.
  std::string token = {};              // Asked for beyond this machine; long enough.
  // PEM files; needed beyond this machine.
  std::string certificate = {};
  std::string key = {};
};

// What is shown; called on the thread of the server.
struct PageContent {
  std::function<std::string(watch::Cursor&)> frame;  // Empty: nothing is new.
  std::function<std::string()> metrics;
  std::function<std::string()> trace;
  std::function<void(const std::string&)> said;  // A line for the log. May be null.
};

class PageServer {
 public:
  // Listens at once. Throws a usage error that names --dashboard if it cannot.
  PageServer(const PageOptions& options, PageContent content);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  // "http://127.0.0.1:40123/".
  [[nodiscard]] const std::string& url() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace outpace::dashboard
