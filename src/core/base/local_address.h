// Whether an address, "HOST:PORT" or "unix:PATH", stays within this machine, and has a port.

#pragma once

#include <string_view>

namespace outpace {

// True if nobody on another machine can connect to what listens there, and no byte to it leaves
// this machine.
[[nodiscard]] bool is_local(std::string_view address);

// Whether the text is a port's number, which ends at 65535; 0 stands for a free one.
[[nodiscard]] bool is_port(std::string_view text);

}  // namespace outpace
