// Labelled images in memory: bytes, standardised channel by channel when they are read out.
//
// An image is its channels' planes, each row by row: red, green, blue.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "learn/dataset.h"

namespace outpace::learn {

// The number that each value of a byte stands for.
using Standardised = std::array<float, 256>;

// (x / 255 - mean) / deviation.
[[nodiscard]] Standardised standardised(float mean, float deviation);
// One table a channel, by the mean and deviation of these images' pixels in it.
[[nodiscard]] std::vector<Standardised> standardised_by(const DataShape& shape,
                                                        const std::vector<std::uint8_t>& pixels);

struct ImageSet {
  DataShape shape;
  std::vector<std::uint8_t> pixels;  // shape.inputs() an example.
  std::vector<std::uint8_t> labels;  // Below shape.classes.
};
// REQUIRES: one table a channel.
[[nodiscard]] std::unique_ptr<Dataset> make_images(ImageSet images,
                                                   std::vector<Standardised> tables);

}  // namespace outpace::learn
