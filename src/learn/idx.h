// Reads an IDX file, the format of MNIST and its descendants, gzipped or plain.
//
// A header (two zero bytes, 8 for bytes, the rank, then an extent for each dimension, big-endian)
// and the numbers. Every extent is checked before anything is allocated for it, and memory grows
// only as bytes really come.

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

// More examples than this are taken for a damaged header.
inline constexpr std::uint32_t kExamplesMax = 4'000'000;

// Reads `directory`/`name`.gz or, if there is none, `directory`/`name`: 1 to kExamplesMax examples
// of the given shape (empty: one number each). Throws a usage error of one line that ends in what
// would be right.
[[nodiscard]] Idx read_idx(const std::string& directory,
                           const std::string& name,
                           const std::vector<std::uint32_t>& example_shape);
// The same without the numbers: opens the file and checks its header.
[[nodiscard]] Idx read_idx_header(const std::string& directory,
                                  const std::string& name,
                                  const std::vector<std::uint32_t>& example_shape);

}  // namespace outpace::learn
