// Which passes (join_code.h) a server lets in.

#pragma once

#include <array>
#include <optional>

#include "wire/join_code.h"

namespace outpace::wire {

class Passes {
 public:
  virtual ~Passes() = default;

  // The key of this pass; nothing if it is shut out, or of an old code. From any thread.
  [[nodiscard]] virtual std::optional<std::array<char, 32>> find(const KeyName& name) = 0;
};

}  // namespace outpace::wire
