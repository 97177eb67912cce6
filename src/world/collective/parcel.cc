#include "collective/parcel.h"

#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "compress/pack.h"

namespace outpace::collective {
namespace {

constexpr std::size_t kChecksum = sizeof(std::uint32_t);

// Never 0 for bytes that are all 0, as those are that did not come.
std::uint32_t checksum_of(std::span<const std::byte> packed) {
  const std::string_view bytes(reinterpret_cast<const char*>(packed.data()), packed.size());
  return ~crc32c(bytes);
}

[[noreturn]] void refuse(std::uint32_t rank, const std::string& why) {
  throw Error(ExitCode::kFailure,
              "the worker in place " + std::to_string(rank) +
                  " of the group sent packed numbers that cannot be used: " + why +
                  "; all workers must be of one version");
}

}  // namespace

std::size_t parcel_bytes(const compress::Format& format, std::size_t numbers, std::size_t exact) {
  return compress::packed_bytes(format, numbers) + exact * sizeof(float) + kChecksum;
}

std::span<std::byte> packed_in(std::span<std::byte> parcel, std::size_t exact) {
  const std::size_t behind = exact * sizeof(float) + kChecksum;
  CHECK(parcel.size() >= behind);
  return parcel.first(parcel.size() - behind);
}

void seal(std::span<std::byte> parcel, std::span<const float> exact) {
  const std::span<std::byte> checked = packed_in(parcel);
  if (!exact.empty()) {
    std::memcpy(checked.last(exact.size_bytes()).data(), exact.data(), exact.size_bytes());
  }
  const std::uint32_t sum = checksum_of(checked);
  std::memcpy(parcel.last(kChecksum).data(), &sum, kChecksum);
}

void clear(std::span<std::byte> parcel) {
  CHECK(parcel.size() >= kChecksum);
  std::memset(parcel.data(), 0, parcel.size());
}

void open(const compress::Format& format,
          std::uint32_t rank,
          std::span<const std::byte> parcel,
          std::span<float> numbers,
          std::span<float> exact) {
  CHECK(parcel.size() == parcel_bytes(format, numbers.size(), exact.size()));
  const std::span<const std::byte> checked = parcel.first(parcel.size() - kChecksum);
  std::uint32_t sum = 0;
  std::memcpy(&sum, parcel.last(kChecksum).data(), kChecksum);
  if (sum != checksum_of(checked)) {
    refuse(rank, "their checksum differs");
  }
  try {
    compress::unpack(format, checked.first(checked.size() - exact.size_bytes()), numbers);
  } catch (const Error& error) {
    refuse(rank, error.what());
  }
  if (!exact.empty()) {
    std::memcpy(exact.data(), checked.last(exact.size_bytes()).data(), exact.size_bytes());
  }
}

}  // namespace outpace::collective
