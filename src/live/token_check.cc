// Tested by src/live/transport_test.cc.

#include "live/token_check.h"

#include <algorithm>

#include "base/error.h"

namespace outpace::live {

void check_token(const std::string& token) {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (token.empty() || !std::all_of(token.begin(), token.end(), printable)) {
    throw usage_error("the job's token must be printable ASCII without blanks, and not empty");
  }
  if (token.size() > kTokenMax) {
    throw usage_error("the job's token has more than " + std::to_string(kTokenMax) + " letters");
  }
}

bool same_token(std::string_view offered, std::string_view own) {
  if (offered.size() != own.size()) {
    return false;
  }
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    const auto bits = static_cast<unsigned char>(offered[i] ^ own[i]);
    difference = static_cast<unsigned char>(difference | bits);
  }
  return difference == 0;
}

}  // namespace outpace::live
