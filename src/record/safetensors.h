// Weights in a file that everyone reads: safetensors, float32 only.
//
// The flat buffer's order is the manifest's order, in the file too. Reading trusts nothing: every
// rule of the format is checked, and nothing is allocated on the word of a header alone. Files of
// several shards and other types of numbers are refused.

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace outpace::record {

inline constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // The format's own limit.

using Metadata = std::map<std::string, std::string>;

struct Weights {
  protocol::Manifest manifest;  // In the order of the data.
  std::vector<float> numbers;   // manifest.numbers() of them.
  Metadata metadata;
};

// Atomically. REQUIRES: manifest.numbers() == numbers.size(). Throws Error if the file system
// refuses, or if the names of the tensors are not distinct UTF-8.
void write_safetensors(const std::filesystem::path& path,
                       const protocol::Manifest& manifest,
                       std::span<const float> numbers,
                       const Metadata& metadata);

// Throws Error(kUnreadable) with a line that names the file and what is wrong with it.
[[nodiscard]] Weights read_safetensors(const std::filesystem::path& path);

}  // namespace outpace::record
