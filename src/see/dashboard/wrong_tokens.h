// Wrong tokens: who brought one waits until another is looked at, twice as long each time.
//
// An address is that of a machine, and all who ask from there wait. Those who have a cookie do not.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace outpace::dashboard {

class WrongTokens {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // Whether a token from this address is looked at now.
  [[nodiscard]] bool may_try(const std::string& address, Moment now) const;
  // It was wrong. A line for the log: of the first at once, then now and then of all since.
  [[nodiscard]] std::optional<std::string> wrong(const std::string& address, Moment now);
  void right(const std::string& address) { tried_.erase(address); }

 private:
  struct Tried {
    std::uint32_t wrong = 0;
    Moment next{};  // When another is looked at.
  };
  void forget_old(Moment now);

  std::map<std::string, Tried> tried_;  // By address.
  std::uint64_t unsaid_ = 0;
  std::optional<Moment> said_;
};

}  // namespace outpace::dashboard
