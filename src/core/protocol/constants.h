// Bytes that travel as messages of limited size (Constants), cut and put together.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "protocol/messages.h"

namespace outpace::protocol {

// Calls `send` for each part in order; not at all if there are no bytes.
void in_parts(std::string_view bytes, const std::function<void(const Constants&)>& send);

// What comes in parts. It allocates for what has come, and not for what was announced.
class Assembly {
 public:
  // One line that says what is wrong with the part; empty if it was added. A part that begins at 0
  // begins anew.
  [[nodiscard]] std::string add(Constants part);
  // Whether all is there, or nothing has begun.
  [[nodiscard]] bool complete() const { return bytes_.size() == whole_; }
  // All bytes, which are not here any more. REQUIRES: complete().
  [[nodiscard]] std::string take();

 private:
  std::string bytes_;
  std::uint64_t whole_ = 0;
};

}  // namespace outpace::protocol
