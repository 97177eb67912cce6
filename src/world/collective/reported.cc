#include "collective/reported.h"

#include <cstdint>

#include "base/check.h"

namespace outpace::collective {
namespace {

constexpr std::uint64_t kDigit = std::uint64_t{1} << 24U;

bool is_digit(float number) {
  return number >= 0.0F && number < static_cast<float>(kDigit) &&
         static_cast<float>(static_cast<std::uint64_t>(number)) == number;
}

}  // namespace

std::vector<float> payload_of(const Reported& reported) {
  const protocol::Carried& carried = reported.carried;
  std::vector<float> payload{reported.runtime};
  for (const std::uint64_t count : {carried.payloads, carried.numbers, carried.bytes}) {
    CHECK(count < kDigit * kDigit);
    const std::uint64_t high = count / kDigit;
    payload.push_back(static_cast<float>(high));
    payload.push_back(static_cast<float>(count % kDigit));
  }
  return payload;
}

std::optional<Reported> reported_in(std::span<const float> payload) {
  if (payload.size() != kReportedNumbers) {
    return std::nullopt;
  }
  for (const float digit : payload.subspan(1)) {
    if (!is_digit(digit)) {
      return std::nullopt;
    }
  }
  const auto count = [&](std::size_t at) {
    return static_cast<std::uint64_t>(payload[at]) * kDigit +
           static_cast<std::uint64_t>(payload[at + 1]);
  };
  return Reported{.runtime = payload[0],
                  .carried = {.payloads = count(1), .numbers = count(3), .bytes = count(5)}};
}

}  // namespace outpace::collective
