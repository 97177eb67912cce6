// What a driver tells the admission once, before anybody comes.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "protocol/messages.h"
#include "server/shard.h"

namespace outpace::admission {

struct Options {
  std::uint64_t job = 1;
  std::uint32_t workers = 1;  // At most,
  std::uint32_t later = 0;    // and these of them come later, or not at all.
  // A worker that has not joined and is silent for this long does not hold its rank any more.
  Duration heartbeat_timeout = std::chrono::seconds(5);
  Duration patience = std::chrono::seconds(60);  // For workers and the evaluator to come.
  bool expects_evaluator = false;  // Workers join when it is there, or after `patience`.
  bool needs_evaluator = false;    // Without one they do not join at all.
  bool starts_evaluator = false;   // The driver can start one.
  // A second evaluator is refused: the driver, of a ring or gossip, has started the only one.
  bool one_evaluator = false;
  // The earlier server of this run died before its first checkpoint: what workers had reached is
  // lost.
  bool begins_again = false;
  // The network that the driver has weights of. Without it the workers bring both.
  std::optional<protocol::Manifest> network;
  bool has_weights = false;
  // The script's optimizer is checked with these.
  server::ShardOptions shard;
  // Mini-batches that workers step by themselves between two pushes; 0: they push each.
  std::uint32_t local_steps = 0;
  // The option that stands against an optimizer of the script; empty: the script's counts.
  std::string script_conflict;
  // Incarnations that an earlier server has given, where its messages may still be under way.
  std::map<WorkerId, std::uint32_t> incarnations;
  // The first number of those that come by a pass, and the numbers that were given (seats.h).
  std::uint32_t seats_from = 0;
  std::map<WorkerId, std::string> seated;
};

}  // namespace outpace::admission
