// The JSON header of a safetensors file: the tensors and where they are. Handles text only, no
// files.
//
// The header is read as a stream of tokens and not as a tree. A hostile header of 100 MB can thus
// neither nest deeply nor take more memory than its content, and duplicate names are noticed.

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

// Throws Error(kUnreadable) that says what is wrong. Checks only the form of the text, not whether
// types, shapes and offsets agree.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view text);

// The header for consecutive float32 tensors, padded with blanks to a multiple of 8. Throws
// Error(kFailure) if the names are not distinct UTF-8.
[[nodiscard]] std::string safetensors_header(const protocol::Manifest& manifest,
                                             const std::map<std::string, std::string>& metadata);

// Throws Error(kUnreadable).
[[noreturn]] void refuse_safetensors(const std::string& why);

// A name from a file for an error message: on one line, and shortened.
[[nodiscard]] std::string in_quotes(std::string_view name);

}  // namespace outpace::record
