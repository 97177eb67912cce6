// What `outpace simulate` is told of the links between the server and its workers.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "protocol/messages.h"
#include "record/chrome_trace.h"
#include "sim/transfers.h"

namespace outpace::cli {

struct LinkOptions {
  std::string platform;   // A file of SimGrid's.
  std::string bandwidth;  // Instead of it, of a regular shape.
  std::string shape;      // Empty: a star.
  std::string payload;
  std::uint32_t shards = 1;  // Of the server.
  std::vector<std::string> server_hosts;
  std::string send_window;  // Empty: weights for several workers go out at the same time.
};
void add_link_options(CLI::App& command, LinkOptions& options);

// Throws a usage error if some of the options are given that do not go together.
void check_links(const LinkOptions& options, bool learns, bool applying_takes_time);

// Bytes that go to one worker before the next one's turn; 0, all at the same time, if there is no
// text. Throws a usage error.
[[nodiscard]] double parse_send_window(const std::string& text);

// Nothing if the options name no links. `manifest`: of what is learnt, null without learning.
// Throws a usage error that names option or file. REQUIRES: check_links() had no objection.
[[nodiscard]] std::optional<sim::Transfers::Options> make_links(const LinkOptions& options,
                                                                std::uint32_t workers,
                                                                const protocol::Manifest* manifest);

// Adds the use of each link that carried anything. `ended`: the run's end, on the run's clock.
void trace_links(const sim::Transfers::Options& links, Time ended, record::ChromeTrace& trace);

}  // namespace outpace::cli
