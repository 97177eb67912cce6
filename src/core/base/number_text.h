// Numbers formatted for people, the same in every locale.

#pragma once

#include <cstdint>
#include <string>

namespace outpace::shown {

// "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t value);
// Rounded to a whole number: "7,220"; "-" if it is negative or not finite.
[[nodiscard]] std::string grouped(double value);
// Examples per second, with at least three digits if the number has as many: "0.533", "31.6",
// "7,220"; "-" if negative or not finite.
[[nodiscard]] std::string rate(double value);
// As rate(), without commas: "7220".
[[nodiscard]] std::string plain_rate(double value);
// About three digits: "0.412", "31.6", "1,234"; "-" if not finite.
[[nodiscard]] std::string brief(double value);
// A share in [0, 1]: "84.1%".
[[nodiscard]] std::string percent(double share);
// "912 B", "76.3 MiB".
[[nodiscard]] std::string bytes(std::uint64_t count);
// "12.3s", "12m05s", "3h07m".
[[nodiscard]] std::string elapsed(double seconds);

}  // namespace outpace::shown
