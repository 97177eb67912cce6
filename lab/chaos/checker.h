// Decides from a history and the final weights alone whether a run lost anything.
//
//   exactly once       every final weight is the number of epochs, to the bit, and no position of
//                      an epoch was accepted twice in the history that the weights have seen
//   nothing lost       every position of every epoch was pushed by somebody, and not turned away
//   whole weights      every weight that a worker or the evaluator ever saw is a whole number
//   bounded loss       a server that dies loses at most two checkpoint intervals: what it did since
//                      the newest checkpoint, and while that one was written
//   checkpoint kept    a server goes on from the newest checkpoint that was whole, and not before
//   same bits          one version of one history has the same weights wherever it is seen
//   monotonic          what a process sees goes forward: generation, version, incarnation
//   generations        no server takes the generation of one before it
//   no untold end      a process ends when it is killed or told to, and then as it should
//   no hang            what chaos waits for comes within its limit, and gradients are accepted
//   no orphan          no process outlives the run
//   bounded memory     the server's memory stays within the formula of docs/wire.md
//
// A gradient that was sent and whose verdict was never heard is unknown: it counts once or not at
// all, and either is right if the sum is.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "chaos/broken.h"
#include "chaos/history.h"

namespace outpace::chaos {

[[nodiscard]] std::vector<Broken> check(const std::vector<Record>& history,
                                        const FinalState& final_state);

// What the table at the end says.
struct Totals {
  std::map<std::string, std::uint64_t> faults;    // Kind -> how often it was injected.
  std::uint64_t skipped = 0;                      // Faults whose target was not there.
  std::map<std::string, std::uint64_t> restarts;  // Role -> how often.
  std::uint64_t updates = 0;                      // In the final weights.
  std::uint64_t lost_updates = 0;                 // Updates that died with a server.
  std::uint64_t lost_most = 0;                    // With one server.
  std::uint64_t pushed = 0;
  std::uint64_t accepted = 0;
  std::uint64_t turned_away = 0;
  std::uint64_t unknown = 0;
};
[[nodiscard]] Totals count(const std::vector<Record>& history);

}  // namespace outpace::chaos
