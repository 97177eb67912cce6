#include <cstdio>
#include <memory>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "record/policy_replay.h"
#include "record/run_directory.h"

namespace outpace::cli {
namespace {

struct ReplayOptions {
  std::string run;
  bool json = false;
};

nlohmann::ordered_json to_json(const record::Replay& found) {
  nlohmann::ordered_json json{{"policy", found.policy},
                              {"workers", found.header.workers},
                              {"identical_decisions", found.decisions},
                              {"cut_short", found.cut_short},
                              {"gap", nullptr},
                              {"difference", nullptr},
                              {"broken_invariant", nullptr}};
  if (!found.gap.empty()) {
    json["gap"] = found.gap;
  }
  if (const auto& difference = found.difference) {
    json["difference"] = {{"line", difference->line},
                          {"seconds", to_seconds(difference->now)},
                          {"event", nlohmann::ordered_json::parse(difference->event)},
                          {"recorded", nlohmann::ordered_json::parse(difference->recorded)},
                          {"replayed", nlohmann::ordered_json::parse(difference->replayed)}};
  }
  if (const auto& broken = found.broken) {
    json["broken_invariant"] = {
        {"line", broken->line}, {"seconds", to_seconds(broken->now)}, {"what", broken->what}};
  }
  return json;
}

int run_replay(const ReplayOptions& options) {
  const auto directory = record::RunDirectory::open(options.run);
  const record::Replay found = record::replay(directory);
  if (options.json) {
    fmt::print("{}\n", to_json(found).dump());
  } else {
    fmt::print("{}{} on {} worker{}: {} decisions replayed, {}\n",
               found.policy,
               found.header.balance ? ", balanced," : "",
               found.header.workers,
               found.header.workers == 1 ? "" : "s",
               found.decisions,
               found.difference ? "then a different one"
               : found.broken   ? "and the last one breaks an invariant"
                                : "all identical, and no invariant is broken");
    if (found.cut_short) {
      fmt::print("the last line of the log is cut off, and is ignored\n");
    }
    if (!found.gap.empty()) {
      fmt::print("{}\n", found.gap);
    }
  }
  std::fflush(stdout);
  if (const auto& difference = found.difference) {
    throw Error(ExitCode::kFailure,
                fmt::format("{}:{}: at {:.6f} s, after {}, the run did {} and the replay {}",
                            difference->file.string(),
                            difference->line,
                            to_seconds(difference->now),
                            difference->event,
                            difference->recorded,
                            difference->replayed));
  }
  if (const auto& broken = found.broken) {
    throw Error(ExitCode::kFailure,
                fmt::format("{}:{}: at {:.6f} s, {}",
                            broken->file.string(),
                            broken->line,
                            to_seconds(broken->now),
                            broken->what));
  }
  return 0;
}

}  // namespace

Run add_replay(job::OptionList& list) {
  auto options = std::make_shared<ReplayOptions>();
  list.add("run", options->run, "Directory of a run").type("DIR").positional().required();
  list.add("json", options->json, "Print the result as one JSON object on standard output");
  return [options](const job::OptionList& /*chosen*/) { return run_replay(*options); };
}

}  // namespace outpace::cli
