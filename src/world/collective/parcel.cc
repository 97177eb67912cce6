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

std::size_t parcel_bytes(const compress::Format& format, std::size_t numbers) {
  return compress::packed_bytes(format, numbers) + kChecksum;
}

std::span<std::byte> packed_in(std::span<std::byte> parcel) {
  CHECK(parcel.size() >= kChecksum);
  return parcel.first(parcel.size() - kChecksum);
}

void seal(std::span<std::byte> parcel) {
  const std::uint32_t sum = checksum_of(packed_in(parcel));
  std::memcpy(parcel.last(kChecksum).data(), &sum, kChecksum);
}

void clear(std::span<std::byte> parcel) {
  CHECK(parcel.size() >= kChecksum);
  std::memset(parcel.data(), 0, parcel.size());
}

void open(const compress::Format& format,
          std::uint32_t rank,
          std::span<const std::byte> parcel,
          std::span<float> numbers) {
  CHECK(parcel.size() == parcel_bytes(format, numbers.size()));
  const std::span<const std::byte> packed = parcel.first(parcel.size() - kChecksum);
  std::uint32_t sum = 0;
  std::memcpy(&sum, parcel.last(kChecksum).data(), kChecksum);
  if (sum != checksum_of(packed)) {
    refuse(rank, "their checksum differs");
  }
  try {
    compress::unpack(format, packed, numbers);
  } catch (const Error& error) {
    refuse(rank, error.what());
  }
}

}  // namespace outpace::collective
