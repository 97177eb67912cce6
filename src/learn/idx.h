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

// More examples, or rows and columns of an image, are taken for a damaged header.
inline constexpr std::uint32_t kExamplesMax = 4'000'000;
inline constexpr std::uint32_t kSideMax = 4096;

// What a file should hold.
struct IdxForm {
  std::vector<std::uint32_t> example_shape;  // Empty: one number each. 0: any from 1 to kSideMax.
  std::string remedy;                        // What would be right, at the end of every message.
};

// Reads `directory`/`name`.gz or, if there is none, `directory`/`name`: 1 to kExamplesMax examples.
// Throws a usage error of one line.
[[nodiscard]] Idx read_idx(const std::string& directory,
                           const std::string& name,
                           const IdxForm& form);
// The same without the numbers: opens the file and checks its header.
[[nodiscard]] Idx read_idx_header(const std::string& directory,
                                  const std::string& name,
                                  const IdxForm& form);

}  // namespace outpace::learn
