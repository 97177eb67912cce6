// What the page of an ended run shows, as the run itself recorded it: to show it takes no replay.
//
// RUN/page.jsonl has two lines: {"outpace_page":1,"program":...,"metrics":...}, and the frame that
// a reader gets first (watch/board_json.h), with lanes of the whole run.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/ids.h"
#include "dashboard/page_server.h"
#include "watch/board.h"

namespace outpace::dashboard {

struct RecordedPage {
  std::string frame;    // JSON.
  std::string metrics;  // For Prometheus.
};

// The text of page.jsonl.
[[nodiscard]] std::string page_record(const watch::Board& board, const std::string& program);

// Nothing if there is none: the run goes on, was killed, or is of an older outpace. Throws a usage
// error that names the file if it is none of these.
[[nodiscard]] std::optional<RecordedPage> read_page_record(const std::filesystem::path& path);

// A Chrome trace of the newest decisions of a run that ended with this version, by this policy.
using TraceAtEnd = std::function<std::string(Version, const std::string& policy)>;
// What is served of it. The trace is made when it is asked for.
[[nodiscard]] PageContent content_of(RecordedPage page, TraceAtEnd trace);

// One HTML file that shows these runs, and asks for nothing: the page with its data inside. `runs`
// is a JSON list of what report.js shows of each (cli/report_command.cc).
[[nodiscard]] std::string page_with(const std::string& runs);

}  // namespace outpace::dashboard
