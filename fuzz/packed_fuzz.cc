// Packed numbers and weights of a stranger: any bytes of the right size become numbers, or are
// refused in one line that names the place; nothing beyond them is read or written. Numbers that
// came so can be packed, and come back the same from a format without a scale.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/feedback.h"
#include "compress/pack.h"
#include "compress/reference.h"
#include "targets.h"

namespace outpace::fuzz {
namespace {

using compress::Format;
using compress::WeightsKind;

// The head of an input: what is packed, and how many numbers.
struct Head {
  std::uint8_t what;   // 0 to 5: a format. Above: kinds of weights, without and with a reference.
  std::uint8_t bits;   // The format's.
  std::uint16_t kept;  // The format's.
  std::uint16_t numbers;
};
constexpr std::size_t kHeadBytes = 6;
constexpr std::uint8_t kFirstWeights = 6;
constexpr std::uint8_t kWeightsKinds = 4;

Head head_of(Bytes bytes) {
  Head head{};
  head.what = bytes[0];
  head.bits = bytes[1];
  std::memcpy(&head.kept, &bytes[2], sizeof head.kept);
  std::memcpy(&head.numbers, &bytes[4], sizeof head.numbers);
  return head;
}

// Whether `unpack` took its bytes.
bool taken(const std::function<void()>& unpack) {
  try {
    unpack();
  } catch (const Error& error) {
    const std::string why = error.what();
    hold(why.starts_with("packed ") && why.find('\n') == std::string::npos,
         "a refusal is one line: " + why);
    return false;
  }
  return true;
}

bool same(float one, float other) {
  return (std::isnan(one) && std::isnan(other)) ||
         std::bit_cast<std::uint32_t>(one) == std::bit_cast<std::uint32_t>(other);
}

void check_format(const Format& format, std::size_t numbers, std::vector<std::byte> packed) {
  if (const std::string why = why_not(format); !why.empty()) {
    hold(why.find('\n') == std::string::npos, "a refusal is one line: " + why);
    return;
  }
  packed.resize(packed_bytes(format, numbers));
  std::vector<float> unpacked(numbers);
  if (!taken([&] { unpack(format, packed, unpacked); })) {
    hold(format.kind == compress::Kind::kTopK, "only places are refused");
    return;
  }
  pack(format, unpacked, packed);
  std::vector<float> again(numbers);
  hold(taken([&] { unpack(format, packed, again); }), "what was packed is refused");
  if (format.kind < compress::Kind::kInt8) {
    hold(std::equal(again.begin(), again.end(), unpacked.begin(), same), "others came back");
  }
  compress::Feedback feedback({.format = format}, numbers);
  feedback.pack(0, unpacked, packed);
  feedback.accepted();
  hold(std::all_of(feedback.left().begin(),
                   feedback.left().end(),
                   [](float left) { return std::isfinite(left); }),
       "what is left is not finite");
}

void check_weights(WeightsKind kind, bool newcomer, std::size_t numbers, Bytes bytes) {
  // A reference of bf16 numbers, which any kind takes.
  std::vector<float> reference(newcomer ? 0 : numbers);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    reference[i] = static_cast<float>(i % 100) - 50.0F;
  }
  const auto packed = std::as_bytes(bytes);
  std::vector<float> now(numbers);
  if (!taken([&] { unpack_weights(kind, packed, reference, now); })) {
    return;
  }
  hold(packed.size() <= packed_weights_most(kind, numbers), "more bytes than the bound are taken");
  std::vector<float> sent(numbers);
  const std::vector<std::byte> again = pack_weights(kind, reference, now, sent);
  hold(again.size() <= packed_weights_most(kind, numbers), "more bytes than the bound are packed");
  std::vector<float> came(numbers);
  hold(taken([&] { unpack_weights(kind, again, reference, came); }), "what was packed is refused");
  hold(std::equal(came.begin(), came.end(), sent.begin(), same), "both ends differ");
}

}  // namespace

void packed(Bytes bytes) {
  if (bytes.size() < kHeadBytes) {
    return;
  }
  const Head head = head_of(bytes);
  const Bytes rest = bytes.subspan(kHeadBytes);
  if (head.what >= kFirstWeights) {
    const unsigned which = head.what - kFirstWeights;
    const auto kind = static_cast<WeightsKind>(which % kWeightsKinds);
    return check_weights(kind, which / kWeightsKinds % 2 == 0, head.numbers, rest);
  }
  const auto whole = std::as_bytes(rest);
  check_format(
      {.kind = static_cast<compress::Kind>(head.what), .kept = head.kept, .bits = head.bits},
      head.numbers,
      {whole.begin(), whole.end()});
}

}  // namespace outpace::fuzz
