#include "throughput/hidden_transfers.h"

#include <algorithm>

namespace outpace::throughput {

HiddenTransfers hidden_transfers(const sim::Overlap& overlap) {
  HiddenTransfers transfers;
  double payload = 0.0;
  for (const sim::Overlap::Piece& piece : overlap.pieces) {
    payload += piece.bytes;
  }
  double bytes = 0.0;
  for (const sim::Overlap::Piece& piece : overlap.pieces) {
    bytes += piece.bytes;
    transfers.weights.push_back({bytes / payload, overlap.before_forward(piece.layer)});
  }
  payload = 0.0;
  for (const sim::Overlap::Slice& slice : overlap.slices) {
    payload += slice.bytes;
  }
  bytes = 0.0;
  for (const sim::Overlap::Slice& slice : overlap.slices) {
    transfers.gradient.push_back({bytes / payload, overlap.after_backward(slice.layer)});
    bytes += slice.bytes;
  }
  return transfers;
}

double hidden_seconds(const HiddenTransfers& transfers, double computing, double down, double up) {
  double computed = computing;
  for (const HiddenTransfers::Point& piece : transfers.weights) {
    computed = std::max(computed, piece.bytes * down + (1.0 - piece.computing) * computing);
  }
  double sent = std::max(up, computing);  // The push comes at the end.
  for (const HiddenTransfers::Point& slice : transfers.gradient) {
    sent = std::max(sent, (1.0 - slice.computing) * computing + (1.0 - slice.bytes) * up);
  }
  return std::clamp((down + computing - computed) + (computing + up - sent), 0.0, computing);
}

Computing without_hidden(const HiddenTransfers& transfers,
                         Computing computing,
                         double down,
                         double up) {
  const auto shorten = [&](double& seconds) {
    seconds -= hidden_seconds(transfers, seconds, down, up);
  };
  for (Period& period : computing) {
    std::ranges::for_each(period.mean, shorten);
    for (std::vector<double>& draw : period.draws) {
      std::ranges::for_each(draw, shorten);
    }
  }
  return computing;
}

}  // namespace outpace::throughput
