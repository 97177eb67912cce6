#include "protocol/packing_codec.h"

#include <string>
#include <variant>

#include "protocol/field_check.h"

namespace outpace::protocol {
namespace {

compress::Format read_format(const pb::Packing& packing, std::uint64_t numbers) {
  require(packing.format() >= 1 && packing.format() <= UINT8_MAX,
          "packing.format",
          "is not one that we know");
  const compress::Format format{.kind = static_cast<compress::Kind>(packing.format()),
                                .kept = packing.kept(),
                                .bits = packing.bits()};
  const std::string why = compress::why_not(format);
  require(why.empty(), "packing", why);
  require(packing.bytes() == compress::packed_bytes(format, numbers),
          "packing.bytes",
          "must be " + std::to_string(compress::packed_bytes(format, numbers)) + " for " +
              std::to_string(numbers) + " numbers, and are " + std::to_string(packing.bytes()));
  return format;
}

compress::WeightsKind read_weights(const pb::Packing& packing, std::uint64_t numbers) {
  require(packing.weights() >= 1 &&
              packing.weights() <= static_cast<std::uint32_t>(compress::WeightsKind::kDelta),
          "packing.weights",
          "is not one that we know");
  const auto kind = static_cast<compress::WeightsKind>(packing.weights());
  require(packing.bytes() >= 1 && packing.bytes() <= compress::packed_weights_most(kind, numbers),
          "packing.bytes",
          "must be at least 1, and at most " +
              std::to_string(compress::packed_weights_most(kind, numbers)) + " for " +
              std::to_string(numbers) + " numbers");
  return kind;
}

}  // namespace

void write(const Packing& packing, pb::Packing& out) {
  out.set_format(static_cast<std::uint32_t>(packing.format.kind));
  out.set_kept(packing.format.kept);
  out.set_bits(packing.format.bits);
  out.set_weights(static_cast<std::uint32_t>(packing.weights));
  out.set_bytes(packing.bytes);
  out.set_check(packing.check);
}

Packing read_packing(const pb::Packing& packing, const Message& message, std::uint64_t numbers) {
  const bool gradient =
      std::holds_alternative<Push>(message) || std::holds_alternative<Slice>(message);
  require(gradient || std::holds_alternative<Release>(message),
          "packing",
          "is of a message whose numbers are not packed");
  require(numbers >= 1, "packing", "is of a payload without numbers");
  Packing out{.bytes = packing.bytes(), .check = packing.check()};
  if (gradient) {
    out.format = read_format(packing, numbers);
  } else {
    out.weights = read_weights(packing, numbers);
  }
  return out;
}

}  // namespace outpace::protocol
