#include "base/crc32c.h"

#include <algorithm>
#include <cstddef>

#include <isa-l/crc.h>

namespace outpace {

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;  // The library counts in int.
  std::uint32_t state = ~before;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, std::min(bytes.size(), kMostAtOnce));
    // The library's argument is not const, though it only reads.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(part.data()));
    state = crc32_iscsi(data, static_cast<int>(part.size()), state);
    bytes.remove_prefix(part.size());
  }
  return ~state;
}

}  // namespace outpace
