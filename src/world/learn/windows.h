// Text as windows of consecutive characters, for predicting the next one.
//
// A character is a byte; the vocabulary is the set of bytes in the file, in their order. The first
// nine tenths are the training part, the rest the test part. Window i of a part consists of its
// characters i C to i C + C. The first C are the input, and the last C, shifted by one, the labels.
// An epoch thus predicts every character once, except the first and fewer than C at the end of a
// part.

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

// Throws a usage error that names the file if it is too short for a window in both parts, or has
// fewer than two distinct characters.
[[nodiscard]] std::unique_ptr<Dataset> load_text(const TextOptions& options, Part part);

}  // namespace outpace::learn
