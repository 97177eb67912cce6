#include "record/peer_replay.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "base/error.h"
#include "peer/replayed.h"
#include "record/peer_log.h"

namespace outpace::record {
namespace {

struct Member {
  Member(const peer::Setting& setting, std::optional<WorkerId> worker) : again(setting, worker) {}

  peer::Replayed again;
  std::uint64_t events = 0;
};
using Members = std::map<std::optional<WorkerId>, Member>;

void add_gap(const std::string& gap, Replay& result) {
  result.gap += (result.gap.empty() ? "" : "\n") + gap;
}

// False if nothing after it is to be replayed.
bool replay_line(const PeerLogReader& log, const PeerLine& line, Members& members, Replay& result) {
  Member& member = members.try_emplace(line.worker, log.setting(), line.worker).first->second;
  ++member.events;
  const std::string who = line.worker ? name(*line.worker) : "the host";
  std::string replayed;
  try {
    replayed = member.again.decide(line.event);
  } catch (const Error& error) {
    result.broken = {.file = log.lines().path(),
                     .line = log.lines().line(),
                     .now = line.now,
                     .what = who + ": " + error.what()};
    return false;
  }
  if (replayed != line.decided) {
    result.difference = {.file = log.lines().path(),
                         .line = log.lines().line(),
                         .now = line.now,
                         .event = line.event,
                         .recorded = line.decided,
                         .replayed = replayed,
                         .member = Replay::Member{.name = who, .event = member.events}};
    return false;
  }
  ++result.decisions;
  return true;
}

bool replay_log(const std::filesystem::path& path, Members& members, Replay& result) {
  PeerLogReader log(path);
  result.policy = log.setting().topology == worker::Topology::kRing ? "ring" : "gossip";
  result.header.workers = log.setting().batches.workers;
  PeerLine line;
  while (log.next(line)) {
    if (!replay_line(log, line, members, result)) {
      return false;
    }
  }
  if (log.lines().cut_short()) {
    result.cut_short.push_back(log.lines().path());
  }
  if (!log.lines().gap().empty()) {
    add_gap(log.lines().gap(), result);
  }
  return true;
}

}  // namespace

Replay replay_peers(const RunDirectory& files) {
  Replay result;
  Members members;
  bool goes_on = replay_log(files.peer_decisions(std::nullopt), members, result);
  for (std::uint32_t id = 0; goes_on && id < result.header.workers; ++id) {
    const std::filesystem::path path = files.peer_decisions(WorkerId{id});
    std::error_code none;
    // One that was killed as it began has an empty one; a simulated run's are in the host's.
    if (const auto size = std::filesystem::file_size(path, none); !none && size > 0) {
      goes_on = replay_log(path, members, result);
    }
  }
  result.members = static_cast<std::uint32_t>(members.size());
  for (std::uint32_t id = 0; goes_on && id < result.header.workers; ++id) {
    if (!members.contains(WorkerId{id})) {
      add_gap(files.peer_decisions(WorkerId{id}).string() + ": no decision of it was kept", result);
    }
  }
  return result;
}

}  // namespace outpace::record
