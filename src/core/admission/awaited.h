// Says what a run that has not begun waits for: when that changes, and now and then.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/time.h"

namespace outpace::admission {

struct Missing {
  std::size_t there = 0;      // Workers,
  std::uint32_t workers = 1;  // of this number.
  bool weights = false;       // Is missing, and so the next one.
  bool evaluator = false;
};

class Awaited {
 public:
  void begin(Time now) { looked_at_ = now; }
  // The line to say; empty if there is none.
  [[nodiscard]] std::string say(Time now, const Missing& missing);
  // say() has nothing before.
  [[nodiscard]] Time next() const { return looked_at_ + kPeriod; }

 private:
  static constexpr Duration kPeriod = std::chrono::seconds(2);
  static constexpr Duration kAgain = std::chrono::seconds(10);  // The same line.

  Time looked_at_{};
  Time said_at_{};
  std::string said_;
};

}  // namespace outpace::admission
