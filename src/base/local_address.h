// Whether an address, "HOST:PORT" or "unix:PATH", stays within this machine.

#pragma once

#include <string_view>

namespace outpace {

// True if nobody on another machine can connect to what listens there, and no byte to it leaves
// this machine.
[[nodiscard]] bool is_local(std::string_view address);

}  // namespace outpace
