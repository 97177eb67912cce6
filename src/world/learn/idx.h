// Reads an IDX file, the format of MNIST and its descendants, gzipped or plain.
//
// The header has two zero bytes, 8 for bytes, the rank, and an extent per dimension, big-endian;
// the numbers follow. Every extent is checked before memory is allocated for it, and memory grows
// only as bytes arrive.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace outpace::learn {

struct Idx {
  std::string path;  // For messages.
  std::vector<std::uint32_t> extents;
  std::vector<std::uint8_t> bytes;  // As many as the product of the extents.
};

// More examples, or more rows or columns in an image, mean that the header is damaged.
inline constexpr std::uint32_t kExamplesMax = 4'000'000;
inline constexpr std::uint32_t kSideMax = 4096;

// The expected content of a file.
struct IdxForm {
  // Empty: one number per example. 0: any extent from 1 to kSideMax.
  std::vector<std::uint32_t> example_shape;
  std::string remedy;  // What would be right; ends every message.
};

// Reads `directory`/`name`.gz or, if it does not exist, `directory`/`name`: 1 to kExamplesMax
// examples. Throws a usage error of one line.
[[nodiscard]] Idx read_idx(const std::string& directory,
                           const std::string& name,
                           const IdxForm& form);
// Opens the file and checks its header, without reading the numbers.
[[nodiscard]] Idx read_idx_header(const std::string& directory,
                                  const std::string& name,
                                  const IdxForm& form);

}  // namespace outpace::learn
