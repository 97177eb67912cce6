// What gradients and weights take on their way, whatever carries them.

#pragma once

#include <cstdint>

#include "base/archive.h"

namespace outpace::protocol {

struct Carried {
  std::uint64_t payloads = 0;
  std::uint64_t numbers = 0;
  std::uint64_t bytes = 0;  // Four a number, unless they were packed.

  void add(std::uint64_t more_numbers, std::uint64_t more_bytes) {
    ++payloads;
    numbers += more_numbers;
    bytes += more_bytes;
  }
  // How many times fewer bytes than the numbers take as they are; 1 before there are any.
  [[nodiscard]] double ratio() const {
    return bytes == 0 ? 1.0
                      : sizeof(float) * static_cast<double>(numbers) / static_cast<double>(bytes);
  }
  void keep(Archive& archive) { archive("payloads", payloads)("numbers", numbers)("bytes", bytes); }
  friend Carried operator+(const Carried& a, const Carried& b) {
    return {.payloads = a.payloads + b.payloads,
            .numbers = a.numbers + b.numbers,
            .bytes = a.bytes + b.bytes};
  }
  bool operator==(const Carried&) const = default;
};
struct Traffic {
  Carried gradients;  // From workers to the server.
  Carried weights;    // From the server to workers.

  bool operator==(const Traffic&) const = default;
};

}  // namespace outpace::protocol
