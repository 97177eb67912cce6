// The faults of a simulated cluster: of its workers, of the links between them and the server, and
// of messages.
//
//   crash:worker=3,at=10s          dies at 10 s; the server hears of the broken connection
//   crash:worker=3,at=10s,for=5s   and joins again, as a new incarnation, 5 s later
//   leave:worker=3,at=10s          says goodbye
//   join:worker=3,at=10s           comes only then: the run begins without it
//   slow:worker=3,at=10s,for=60s,factor=4
//                                  a mini-batch that it begins in that minute takes four times
//                                  its runtime
//   pause:worker=3,at=10s,for=5s   stands still, and then goes on where it was
//   hang:worker=3,at=10s,for=60s   the same, but its heart beats
//   partition:workers=1+3,at=10s,for=5s[,way=to_server]
//                                  what these workers and the server send each other arrives when
//                                  it is over; or only what they send the server, or get from it
//   server:at=10s,for=5s           the server dies, and 5 s later another one goes on from its
//                                  newest checkpoint; the workers join it anew
//   clog:at=10s,for=5s,step=100ms,share=0.5
//                                  a random half of the links is cut one by one, a step apart, and
//                                  from 15 s on mended one by one in another order
//
// These faults happen to each message that is sent in a span of time, with a probability:
//
//   delay:at=10s,for=60s,probability=0.1,by=50ms      takes 50 ms longer, and so do those behind
//   lose:at=10s,for=60s,probability=0.01              is lost, and with it the connection
//   duplicate:at=10s,for=60s,probability=0.1,by=1s    comes again, some time up to 1 s later
//   reorder:at=10s,for=60s,probability=0.1,by=1s      is up to 1 s late, and overtaken meanwhile
//
// docs/simulation.md says what loss, repetition and order mean on a transport that has none of it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace outpace::sim {

struct Fault {
  enum class Kind : std::uint8_t {
    kCrash,
    kLeave,
    kJoin,
    kSlow,
    kPause,
    kHang,
    kServer,
    kPartition,
    kClog,
    kDelay,
    kLose,
    kDuplicate,
    kReorder
  };
  enum class Way : std::uint8_t { kBoth, kToServer, kToWorker };

  Kind kind;
  WorkerId worker{};  // The worker whose fault it is, if it is one worker's.
  Time at;
  std::optional<Duration> lasts;  // Without it a crashed worker stays away.
  double factor = 1.0;            // For a slow period.
  std::vector<WorkerId> workers;  // For a partition.
  Way way = Way::kBoth;           // For a partition.
  double probability = 1.0;       // The chance that it befalls a message, or with clog a link.
  Duration by{};                  // How late a message is, or with clog the step.

  static constexpr Time kNeverComes = Time::max();  // For a worker that could join.

  bool operator==(const Fault&) const = default;
};

// Whether it befalls one worker at one moment, as opposed to links and messages.
[[nodiscard]] bool befalls_worker(Fault::Kind kind);
// Whether a worker that is alive may not be heard for a while.
[[nodiscard]] bool can_silence(const Fault& fault);
// Whether it shows only if hearts beat: it can silence a live worker, or hangs one whose heart
// beats.
[[nodiscard]] bool takes_heartbeats(const Fault& fault);

// Workers that the run begins without: those that join later, but if that is all, the first to
// come.
[[nodiscard]] std::uint32_t later_workers(const std::vector<Fault>& faults, std::uint32_t workers);

// Throws a usage error that names the fault and what would be right. REQUIRES: workers >= 1.
[[nodiscard]] Fault parse_fault(std::string_view text, std::uint32_t workers);

}  // namespace outpace::sim
