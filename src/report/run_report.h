// The report of runs: one HTML file without dependencies, in figures and words, readable on paper.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "throughput/whatif_report.h"
#include "watch/board.h"

namespace outpace::report {

struct ReportedRun {
  const watch::Board* board = nullptr;  // Fed with all of the record.
  std::string gap;      // Where and why the record ends before the run; empty: it does not.
  std::string command;  // "train", by which it was run; empty: not known.
  std::string config;   // Its config.toml; empty: there is none.
  // What `outpace whatif` answers of it; or why it answers nothing.
  std::optional<throughput::WhatIfReport> whatif;
  std::string why_no_whatif;
};

// An HTML document. REQUIRES: at least one run.
[[nodiscard]] std::string html_of(const std::vector<ReportedRun>& runs);

}  // namespace outpace::report
