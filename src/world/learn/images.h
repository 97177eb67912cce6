// Labelled images in IDX files (LeCun's format of MNIST), gzipped or plain.
//
// A folder has train-images-idx3-ubyte, train-labels-idx1-ubyte, and the same two for t10k. Colour
// images are in train-images-idx4-ubyte: images x rows x columns x (red, green, blue).

#pragma once

#include <memory>
#include <string>

#include "learn/dataset.h"

namespace outpace::learn {

// Debian's fashion-mnist: 28x28, labels 0 to 9, standardised by its customary mean and deviation.
// Throws a usage error, as do all functions here.
[[nodiscard]] std::unique_ptr<Dataset> load_fashion_mnist(const std::string& folder, Part part);
// Its shape, after checking the headers of all four files.
[[nodiscard]] DataShape check_fashion_mnist(const std::string& folder);

// Images of any one size. The number of classes is one more than the largest label of both parts,
// and at least two.
[[nodiscard]] std::unique_ptr<Dataset> load_idx(const std::string& folder, Part part);
// The shape, after reading all four files completely.
[[nodiscard]] DataShape check_idx(const std::string& folder);

}  // namespace outpace::learn
