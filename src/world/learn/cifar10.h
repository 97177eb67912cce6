// CIFAR-10 in its binary version (Krizhevsky, "Learning Multiple Layers of Features from Tiny
// Images", 2009): data_batch_1.bin to data_batch_5.bin and test_batch.bin.
//
// A file is 10,000 records of 3,073 bytes: the class, then 32x32 pixels as planes of red, green and
// blue, row by row.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "learn/dataset.h"

namespace outpace::learn {

struct Cifar10Options {
  std::string folder;
  // The first images of each part; all by default.
  std::uint64_t train = 50'000;
  std::uint64_t test = 10'000;
};

inline constexpr DataShape kCifar10Shape{
    .kind = DataKind::kImages, .height = 32, .width = 32, .classes = 10, .channels = 3};

// Standardised by the customary mean and deviation of each channel. Both throw a usage error.
[[nodiscard]] std::unique_ptr<Dataset> load_cifar10(const Cifar10Options& options, Part part);
// Checks that all six files are there and have the right size.
[[nodiscard]] DataShape check_cifar10(const Cifar10Options& options);

}  // namespace outpace::learn
