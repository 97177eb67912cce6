// Weights in the safetensors format, float32 only.
//
// The file has the tensors in the order of the manifest, as the flat buffer does. A file is not
// trusted: every rule of the format is checked, and memory is not allocated on the header's word
// alone. Files of several shards and other number types are refused.

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

// Writes atomically. REQUIRES: manifest.numbers() == numbers.size(). Throws Error if the file
// system refuses, or if the tensor names are not distinct UTF-8.
void write_safetensors(const std::filesystem::path& path,
                       const protocol::Manifest& manifest,
                       std::span<const float> numbers,
                       const Metadata& metadata);
// The same of numbers that lie apart: `parts`, one after another.
void write_safetensors(const std::filesystem::path& path,
                       const protocol::Manifest& manifest,
                       std::span<const std::span<const float>> parts,
                       const Metadata& metadata);

// Throws Error(kUnreadable) with one line that names the file and what is wrong.
[[nodiscard]] Weights read_safetensors(const std::filesystem::path& path);

}  // namespace outpace::record
