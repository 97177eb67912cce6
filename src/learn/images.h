// Labelled grey images in IDX files (LeCun's format of MNIST), gzipped or plain.
//
// A folder holds train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k. Pixels stay
// bytes in memory, and are standardised on the way out.

#pragma once

#include <memory>
#include <string>

#include "learn/dataset.h"

namespace outpace::learn {

// Debian's fashion-mnist: 28x28, labels 0 to 9, standardised by the mean and deviation that
// everybody uses for it. Throws a usage error, as all of these do.
[[nodiscard]] std::unique_ptr<Dataset> load_fashion_mnist(const std::string& folder, Part part);
// Its shape, after a look at the headers of all four files.
[[nodiscard]] DataShape check_fashion_mnist(const std::string& folder);

// Images of any one size; as many classes as the largest label of both parts says, at least two.
[[nodiscard]] std::unique_ptr<Dataset> load_idx(const std::string& folder, Part part);
// The shape, after reading all four files to their ends.
[[nodiscard]] DataShape check_idx(const std::string& folder);

}  // namespace outpace::learn
