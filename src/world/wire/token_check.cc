// Tested by src/world/wire/transport_test.cc.

#include "wire/token_check.h"

#include <algorithm>

#include "base/error.h"

namespace outpace::wire {

void check_token(const std::string& token) {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (token.empty() || !std::all_of(token.begin(), token.end(), printable)) {
    throw usage_error("the job's token must be printable ASCII without blanks, and not empty");
  }
  if (token.size() > kTokenMax) {
    throw usage_error("the job's token has more than " + std::to_string(kTokenMax) + " letters");
  }
}

}  // namespace outpace::wire
