// How a simulated cluster packs what travels: the same numbers as over a wire, and how many bytes
// they take.
//
// What a worker's push leaves behind belongs to its process, and the push's verdict settles it; a
// worker that comes again over a new connection asks for a verdict that it missed. Weights are
// packed when their release is sent, against those that went over the same connection before; a new
// connection begins with all numbers.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "compress/feedback.h"
#include "compress/format.h"
#include "compress/reference.h"
#include "protocol/messages.h"
#include "protocol/traffic.h"

namespace outpace::sim {

struct Packing {
  compress::Compression gradients;                               // What workers push,
  compress::WeightsKind weights = compress::WeightsKind::kNone;  // and what they pull.

  bool operator==(const Packing&) const = default;
};

// Bytes of weights for a worker, if their values are not known: all of them have changed since its
// last ones. `newcomer`: it has none.
[[nodiscard]] std::size_t weights_bytes(compress::WeightsKind kind,
                                        std::size_t numbers,
                                        bool newcomer);

class Packer {
 public:
  using Weights = std::shared_ptr<const std::vector<float>>;

  // `payload`: bytes of a gradient, and of the weights, as float32.
  Packer(const Packing& packing, std::uint32_t workers, double payload);

  // Bytes of a push.
  [[nodiscard]] double gradient_bytes() const { return gradient_bytes_; }
  // The gradient becomes what the server gets of it. REQUIRES: the worker's last push is settled.
  void pack(WorkerId worker, Sequence release, std::vector<float>& gradient);
  // The worker's push whose verdict has not come; 0: none, or nothing is packed.
  [[nodiscard]] Sequence unanswered(WorkerId worker) const;
  // Its unanswered push counts, or does not; changes nothing without one.
  void settle(WorkerId worker, bool counts);
  void judged(WorkerId worker, const protocol::Verdict& verdict);
  // The worker is a new process.
  void started(WorkerId worker);
  // A server has welcomed the worker over a new connection, and says whether its unanswered push
  // counted.
  void connected(WorkerId worker, bool counted);

  struct Sent {
    Weights weights;  // What the worker gets.
    double bytes;
  };
  // `weights` may be null: then their values are not known.
  [[nodiscard]] Sent send(WorkerId worker, Weights weights);

  // A push has arrived.
  void received();
  // What a server and its workers have sent each other since the server began.
  [[nodiscard]] const protocol::Traffic& traffic() const { return traffic_; }
  void server_began() { traffic_ = {}; }

 private:
  struct Worker {
    std::unique_ptr<compress::Feedback> feedback;  // Null before its first push.
    Sequence unanswered{};
    Weights has;           // Null without numbers, and before the connection's first release.
    bool newcomer = true;  // Nothing went over this connection yet.
  };
  [[nodiscard]] Sent packed(Worker& to, const Weights& weights);

  const Packing packing_;
  const double payload_;
  const std::size_t numbers_;
  const double gradient_bytes_;
  std::vector<Worker> workers_;   // Empty if nothing is packed.
  std::vector<std::byte> bytes_;  // Kept for its memory.
  // What was packed last: workers that have had the same releases get the same.
  struct Last {
    Weights has;
    bool newcomer;
    Weights next;
    Sent sent;
  };
  std::optional<Last> last_;
  protocol::Traffic traffic_;
};

}  // namespace outpace::sim
