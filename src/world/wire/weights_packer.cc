// Tested by src/world/wire/packed_test.cc.

#include "wire/weights_packer.h"

#include <utility>

#include "base/crc32c.h"

namespace outpace::wire {

WeightsPacker::Packed WeightsPacker::pack(const Held& has, const Payload& weights) {
  const std::lock_guard lock(mutex_);
  for (const Kept& kept : kept_) {
    if (is_for(kept, has, weights)) {
      return kept.packed;
    }
  }
  Kept& place = kept_.at(oldest_);
  oldest_ = (oldest_ + 1) % kKept;
  place = {.has = has,
           .newcomer = has == nullptr,
           .next = weights.keeper(),
           .packed = make(has, weights)};
  return place.packed;
}

bool WeightsPacker::is_for(const Kept& kept, const Held& has, const Payload& weights) {
  return kept.next.lock() == weights.keeper() && kept.newcomer == (has == nullptr) &&
         kept.has.lock() == has;
}

WeightsPacker::Packed WeightsPacker::make(const Held& has, const Payload& weights) const {
  const std::span<const float> next = weights.numbers();
  auto now = std::make_shared<std::vector<float>>(next.size());
  const std::span<const float> reference =
      has ? std::span<const float>(*has) : std::span<const float>();
  auto bytes = std::make_shared<const std::vector<std::byte>>(
      compress::pack_weights(kind_, reference, next, *now));
  const std::string_view held(reinterpret_cast<const char*>(now->data()),
                              now->size() * sizeof(float));
  const protocol::Packing packing{.weights = kind_, .bytes = bytes->size(), .check = crc32c(held)};
  return {.payload = Payload(std::move(bytes), packing, next.size()),
          .now = kind_ == compress::WeightsKind::kBf16 ? nullptr : std::move(now)};
}

}  // namespace outpace::wire
