// The JSON header of a safetensors file: what tensors there are and where. Text only, no file.
//
// Read as a stream of tokens and not as a tree, so that a hostile header of 100 MB can neither nest
// deeply nor cost more memory than what it says, and so that a name that stands twice is seen.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/messages.h"

namespace outpace::record {

struct HeaderTensor {
  protocol::TensorInfo info;
  std::string dtype;
  std::uint64_t begin = 0;  // Byte offsets into the buffer after the header.
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<HeaderTensor> tensors;  // In the order of the text.
  std::map<std::string, std::string> metadata;
};

// Throws Error(kUnreadable) with what is wrong. Only the text's form is checked, not that types,
// shapes and offsets agree.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view text);

// The text for float32 tensors that follow one another, padded with blanks to a multiple of 8.
// Throws Error(kFailure) if the names are not distinct UTF-8.
[[nodiscard]] std::string safetensors_header(const protocol::Manifest& manifest,
                                             const std::map<std::string, std::string>& metadata);

// Throws Error(kUnreadable).
[[noreturn]] void refuse_safetensors(const std::string& why);

// A name from a file as an error shows it: on one line, and not at any length.
[[nodiscard]] std::string in_quotes(std::string_view name);

}  // namespace outpace::record
