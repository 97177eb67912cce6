// The form of the job's token.

#pragma once

#include <cstddef>
#include <string>

namespace outpace::wire {

inline constexpr std::size_t kTokenMax = 65'536;

// Throws a usage error unless the token can be sent: printable ASCII without blanks, not empty.
void check_token(const std::string& token);

}  // namespace outpace::wire
