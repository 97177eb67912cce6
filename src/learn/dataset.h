// Labelled images in memory, as bytes: what workers compute gradients on and the evaluator counts.
//
// Read once from IDX files (LeCun's format of MNIST), gzipped or plain, and checked while being
// read; a Dataset is well formed. No libtorch here. Immutable, so threads may share one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/spec.h"

namespace outpace::learn {

enum class Part : std::uint8_t { kTrain, kTest };

class Dataset {
 public:
  static constexpr std::size_t kSide = 28;
  static constexpr std::size_t kPixels = kSide * kSide;
  static constexpr std::size_t kClasses = 10;

  // "fashion-mnist" from where Debian's package puts it, "fashion-mnist:dir=DIR" from elsewhere.
  // Throws a usage error that names the file, what is wrong, and what would be right.
  static Dataset load(const Spec& spec, Part part);
  // Whether load() would find files that look right, of both parts, without reading the images.
  // Throws as load() does.
  static void check(const Spec& spec);

  [[nodiscard]] std::size_t examples() const { return labels_.size(); }

  // Writes the examples' pixels, normalised as (x / 255 - mean) / deviation, one after the other.
  // REQUIRES: every index is below examples(); room for kPixels numbers and one label for each.
  void gather(std::span<const std::uint64_t> indices,
              std::span<float> pixels,
              std::span<std::int64_t> labels) const;

 private:
  std::vector<std::uint8_t> pixels_;  // kPixels for each example.
  std::vector<std::uint8_t> labels_;  // Below kClasses.
  std::vector<float> normalised_;     // Of each value that a byte can have.
};

// For help texts and messages.
[[nodiscard]] std::span<const std::string> dataset_names();

}  // namespace outpace::learn
