// The network's faults: links that carry nothing for a while, and messages that come late, twice,
// out of turn, or not at all.
//
// A link is one direction of one worker's connection. While it is cut, its messages wait and keep
// their order, because TCP sends again what was not acknowledged. The outcome is a function of the
// faults, the seed and the order of the calls.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/rng.h"
#include "base/time.h"
#include "sim/faults.h"
#include "sim/way.h"

namespace outpace::sim {

class MessageFaults {
 public:
  // How many messages, and with cut how many links, it happened to.
  struct Counts {
    std::uint64_t cut = 0;  // Times that a link stopped carrying; each way counts.
    std::uint64_t held = 0;
    std::uint64_t delayed = 0;
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t reordered = 0;
  };

  // Uses only the faults of links and messages among `faults`. REQUIRES: parse_fault() made them,
  // for this number of workers.
  MessageFaults(const std::vector<Fault>& faults, std::uint32_t workers, std::uint64_t seed);

  // What happens to a message.
  struct Passage {
    Time arrival{};
    bool lost = false;          // Never arrives, and the connection is broken.
    bool overtaken = false;     // Later messages do not wait for it.
    std::optional<Time> again;  // A copy arrives then, too.
  };
  struct Sent {
    Time at;
    Time arrives;    // Without faults.
    bool may_stray;  // It may come twice, or be overtaken.
  };
  [[nodiscard]] Passage pass(WorkerId worker, Way way, const Sent& sent);
  // When the link carries a message that is sent at `time`: at once unless it is cut.
  [[nodiscard]] Time open(WorkerId worker, Way way, Time time) const;

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Cut {
    Time from;
    Time until;
  };
  using Link = std::vector<Cut>;

  void cut(WorkerId worker, std::optional<Way> way, Cut cut);
  void clog(const Fault& fault, std::uint32_t workers);
  [[nodiscard]] const Link& link(WorkerId worker, Way way) const {
    return links_[2 * index(worker) + (way == Way::kToServer ? 0 : 1)];
  }
  [[nodiscard]] bool strikes(const Fault& fault, const Sent& sent);
  // Uniform, from 0 to `most`.
  [[nodiscard]] Duration some(Duration most);

  // Constant after construction.
  std::vector<Fault> of_messages_;
  std::vector<Link> links_;  // A worker's way to the server, its way back, the next worker's, ...
  // State.
  Rng rng_;
  Counts counts_;
};

}  // namespace outpace::sim
