// Packs the weights of releases. Each connection knows what its peer has.
//
// A release is packed when its turn to be sent comes, against the weights that the same connection
// has sent before: messages of one connection arrive in order or not at all, so both ends have the
// same. A new connection begins with all numbers. Workers that have had the same releases, as under
// sync, share what is packed for them.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "compress/reference.h"
#include "wire/payload.h"

namespace outpace::wire {

// Threads: any.
class WeightsPacker {
 public:
  // The weights that a peer has; null: none yet.
  using Held = std::shared_ptr<const std::vector<float>>;

  // REQUIRES: kind is not kNone.
  explicit WeightsPacker(compress::WeightsKind kind) : kind_(kind) {}

  struct Packed {
    Payload payload;
    Held now;  // What the peer has then; null if the next weights do not depend on it.
  };
  // These weights for a peer that has `has`.
  [[nodiscard]] Packed pack(const Held& has, const Payload& weights);

 private:
  // What was packed lately: the weights `next`, for a peer that has `has`.
  struct Kept {
    std::weak_ptr<const std::vector<float>> has;
    bool newcomer = false;
    std::weak_ptr<const void> next;
    Packed packed;
  };

  [[nodiscard]] Packed make(const Held& has, const Payload& weights) const;
  [[nodiscard]] static bool is_for(const Kept& kept, const Held& has, const Payload& weights);

  static constexpr std::size_t kKept = 2;

  const compress::WeightsKind kind_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::array<Kept, kKept> kept_;
  std::size_t oldest_ = 0;
};

}  // namespace outpace::wire
