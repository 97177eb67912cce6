// Numbers as people read them, the same in every locale.

#pragma once

#include <cstdint>
#include <string>

namespace outpace::record {

// "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t value);
// Rounded to a whole number: "7,220"; "-" if it is negative or not finite.
[[nodiscard]] std::string grouped(double value);
// Of examples a second: three digits at least, where there are such: "0.533", "31.6", "7,220"; "-"
// if it is negative or not finite.
[[nodiscard]] std::string rate(double value);
// The same without commas: "7220".
[[nodiscard]] std::string plain_rate(double value);
// Three digits or so: "0.412", "31.6", "1,234"; "-" if it is not finite.
[[nodiscard]] std::string brief(double value);
// Of a share in [0, 1]: "84.1%".
[[nodiscard]] std::string percent(double share);
// "12.3s", "12m05s", "3h07m".
[[nodiscard]] std::string elapsed(double seconds);

}  // namespace outpace::record
