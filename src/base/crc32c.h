// CRC-32C (Castagnoli), by the processor's own instruction where there is one.

#pragma once

#include <cstdint>
#include <string_view>

namespace outpace {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

}  // namespace outpace
