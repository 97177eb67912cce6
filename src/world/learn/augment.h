// Random changes of training images: a crop of the image padded by four places, and a mirror image.
// He et al., "Deep Residual Learning for Image Recognition" (CVPR 2016), section 4.2.
//
// A change is a function of (seed, epoch, example) alone. So it does not matter which worker has
// the example, or how often it is computed in an epoch.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/spec.h"
#include "learn/dataset.h"

namespace outpace::learn {

struct Augmentation {
  bool crop = false;
  bool flip = false;

  bool operator==(const Augmentation&) const = default;
};
// The option "augment" of a data set of images; without it, nothing is changed. Throws a usage
// error.
[[nodiscard]] Augmentation read_augmentation(SpecReader& reader);

class Augmenter {
 public:
  // Throws a usage error if the data are no images, or too small for a crop.
  Augmenter(Augmentation augmentation, const DataShape& shape, std::uint64_t seed);

  // Changes the examples' numbers in place. REQUIRES: shape.inputs() numbers an example.
  void apply(std::uint64_t epoch, std::span<const std::uint64_t> examples, std::span<float> inputs);

 private:
  // Places that the image moves; the mean colour, 0, moves in behind it.
  struct Change {
    std::int64_t right = 0;
    std::int64_t down = 0;
    bool mirrored = false;
  };

  [[nodiscard]] Change draw(std::uint64_t epoch, std::uint64_t example) const;
  void change(const Change& change, std::span<float> plane);

  Augmentation augmentation_;
  DataShape shape_;
  std::uint64_t seed_;
  std::vector<float> before_;  // A plane; a field only to keep its memory.
};

}  // namespace outpace::learn
