#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "record/peer_replay.h"
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
                              {"cut_short", !found.cut_short.empty()},
                              {"gap", nullptr},
                              {"difference", nullptr},
                              {"broken_invariant", nullptr}};
  if (!found.gap.empty()) {
    json["gap"] = found.gap;
  }
  if (found.members > 0) {
    json["members"] = found.members;
  }
  if (const auto& difference = found.difference) {
    const auto value = [&](const std::string& text) {  // A server's log has JSON, others words.
      return difference->member ? nlohmann::ordered_json(text)
                                : nlohmann::ordered_json::parse(text);
    };
    json["difference"] = {{"line", difference->line},
                          {"seconds", to_seconds(difference->now)},
                          {"event", value(difference->event)},
                          {"recorded", value(difference->recorded)},
                          {"replayed", value(difference->replayed)}};
    if (const auto& member = difference->member) {
      json["difference"]["member"] = member->name;
      json["difference"]["member_event"] = member->event;
    }
  }
  if (const auto& broken = found.broken) {
    json["broken_invariant"] = {
        {"line", broken->line}, {"seconds", to_seconds(broken->now)}, {"what", broken->what}};
  }
  return json;
}

// A server's log has JSON, others words.
std::string in_quotes(const record::Replay::Difference& difference, const std::string& text) {
  return difference.member ? "'" + text + "'" : text;
}

std::string result_in_words(const record::Replay& found) {
  if (found.difference) {
    return "then a different one";
  }
  if (found.members > 0) {
    return found.broken ? "and the next event cannot come" : "all identical";
  }
  return found.broken ? "and the last one breaks an invariant"
                      : "all identical, and no invariant is broken";
}

int run_replay(const ReplayOptions& options) {
  const auto directory = record::RunDirectory::open(options.run);
  const record::Replay found =
      directory.has_peer_decisions() ? record::replay_peers(directory) : record::replay(directory);
  if (options.json) {
    fmt::print("{}\n", to_json(found).dump());
  } else {
    fmt::print("{}{} on {} worker{}: {} decisions{} replayed, {}\n",
               found.policy,
               found.header.balance ? ", balanced," : "",
               found.header.workers,
               found.header.workers == 1 ? "" : "s",
               found.decisions,
               found.members > 0 ? fmt::format(" of {} members", found.members) : "",
               result_in_words(found));
    for (const std::filesystem::path& log : found.cut_short) {
      fmt::print("{}: the last line is cut off, and is ignored\n", log.string());
    }
    if (!found.gap.empty()) {
      fmt::print("{}\n", found.gap);
    }
  }
  std::fflush(stdout);
  if (const auto& difference = found.difference) {
    throw Error(ExitCode::kFailure,
                fmt::format("{}:{}: {}at {:.6f} s, after {}, the run did {} and the replay {}",
                            difference->file.string(),
                            difference->line,
                            difference->member ? fmt::format("{}, its event {}, ",
                                                             difference->member->name,
                                                             difference->member->event)
                                               : "",
                            to_seconds(difference->now),
                            in_quotes(*difference, difference->event),
                            in_quotes(*difference, difference->recorded),
                            in_quotes(*difference, difference->replayed)));
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
