// Text as windows of consecutive characters, to learn which comes next.
//
// A character is a byte, and the vocabulary the bytes that the file has, in their order. The first
// nine tenths are the training part, the rest the test part. Window i of a part is its characters
// i C to i C + C, of which the first C are the input and the last C, one further on, the labels: an
// epoch predicts every character once (but for the first, and fewer than C at a part's end).

#pragma once

#include <memory>
#include <string>

#include "learn/dataset.h"

namespace outpace::learn {

inline constexpr std::size_t kContextMax = 1024;

struct TextOptions {
  std::string file;
  std::size_t context = 64;  // C; 1 to kContextMax.
};

// Throws a usage error that names the file, if it is too short for a window in both parts or has
// fewer than two different characters.
[[nodiscard]] std::unique_ptr<Dataset> load_text(const TextOptions& options, Part part);

}  // namespace outpace::learn
