// Finds out why the server cannot listen on an address. gRPC only says that it failed.

#pragma once

#include <string>

namespace outpace::live {

// Throws a usage error, "cannot listen on 127.0.0.1:4000: the port is in use; choose another
// --listen, or port 0", if the address is taken, not ours or not well formed.
void check_listenable(const std::string& address);

}  // namespace outpace::live
