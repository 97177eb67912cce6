// CRC-32C (Castagnoli), by the processor's own instruction where there is one.

#pragma once

#include <cstdint>
#include <string_view>

namespace outpace {

// `before` is that of the bytes before these, if there are any.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace outpace
