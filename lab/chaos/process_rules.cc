#include "chaos/process_rules.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace outpace::chaos {
namespace {

// No fault lasts for more than six seconds, no process is down for more than three. Heartbeats that
// are missed, and pauses before a worker looks for its server again, come on top.
constexpr std::int64_t kQuietMost = 60'000'000;

constexpr int kRefused = 1;  // A rank whose old process still counts as alive.

// The launcher is to start a rank again when its process was told that the one before is alive.
bool is_refused_rank(const Record& record) {
  return record.get<int>("code") == kRefused &&
         record.get<std::string>("why").find("is alive at") != std::string::npos;
}

}  // namespace

void check_ends(const std::vector<Record>& history, std::vector<Broken>& broken) {
  for (const Record& record : history) {
    if (record.what == "ended" && !record.get<bool>("as_told", true) && !is_refused_rank(record)) {
      broken.push_back({.rule = "no untold end",
                        .what = fmt::format("{} ended with exit code {}: {}",
                                            record.who,
                                            record.get<int>("code"),
                                            record.get<std::string>("why")),
                        .records = {to_line(record)}});
    }
  }
}

void check_hangs(const std::vector<Record>& history,
                 const Trail& trail,
                 std::vector<Broken>& broken) {
  for (const Record& record : history) {
    if (record.what == "overdue") {
      broken.push_back({.rule = "no hang",
                        .what = fmt::format("after {:.0f} s still waiting: {}",
                                            record.get<double>("seconds"),
                                            record.get<std::string>("waited_for")),
                        .records = {to_line(record)}});
    }
  }
  std::vector<const Release*> accepted;
  for (const Release& release : trail.releases) {
    if (release.outcome == Outcome::kAccepted) {
      accepted.push_back(&release);
    }
  }
  std::ranges::stable_sort(accepted, {}, [](const Release* one) { return one->judged_at; });
  for (std::size_t i = 1; i < accepted.size(); ++i) {
    const std::int64_t quiet = accepted[i]->judged_at - accepted[i - 1]->judged_at;
    if (quiet > kQuietMost) {
      broken.push_back({.rule = "no hang",
                        .what = fmt::format("no gradient was accepted for {:.1f} s",
                                            1e-6 * static_cast<double>(quiet)),
                        .records = {name_of(*accepted[i - 1]), name_of(*accepted[i])}});
    }
  }
}

void check_orphans(const std::vector<Record>& history, std::vector<Broken>& broken) {
  for (const Record& record : history) {
    if (record.what == "left") {
      broken.push_back({.rule = "no orphan",
                        .what = fmt::format("processes outlived the run: {}",
                                            record.get<std::string>("processes")),
                        .records = {to_line(record)}});
    }
  }
}

void check_memory(const std::vector<Record>& history, std::vector<Broken>& broken) {
  std::optional<std::uint64_t> most;
  for (const Record& record : history) {
    if (record.what == "began" && record.more.contains("server_memory_most")) {
      most = record.get<std::uint64_t>("server_memory_most");
    }
    if (record.what == "memory" && most && record.get<std::uint64_t>("bytes") > *most) {
      broken.push_back({.rule = "bounded memory",
                        .what = fmt::format("the server took {} MiB; it may take {} MiB",
                                            record.get<std::uint64_t>("bytes") >> 20U,
                                            *most >> 20U),
                        .records = {to_line(record)}});
      return;
    }
  }
}

}  // namespace outpace::chaos
