// The form of the job's token, and how to compare two tokens, for both transports.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace outpace::live {

inline constexpr std::size_t kTokenMax = 65'536;

// Throws a usage error unless the token can be sent: printable ASCII without blanks, not empty.
void check_token(const std::string& token);

// Takes the same time for any two texts of the same lengths, so that nobody can guess a token
// letter by letter.
[[nodiscard]] bool same_token(std::string_view offered, std::string_view own);

}  // namespace outpace::live
