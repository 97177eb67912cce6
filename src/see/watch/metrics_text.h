// A board in the text format of Prometheus, version 0.0.4, for GET /metrics.

#pragma once

#include <string>

#include "watch/board.h"

namespace outpace::watch {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// `version`: of the program. docs/see.md lists the metrics.
[[nodiscard]] std::string metrics_text(const Board& board, const std::string& version);

}  // namespace outpace::watch
