#include "learn/augment.h"

#include <array>

#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"

namespace outpace::learn {
namespace {

constexpr std::int64_t kPadding = 4;
constexpr std::uint64_t kChangesStream = 0xa119;  // Apart from the streams of weights and orders.

std::int64_t shift(Rng& rng) {
  return static_cast<std::int64_t>(rng.below(2 * kPadding + 1)) - kPadding;
}

}  // namespace

Augmentation read_augmentation(SpecReader& reader) {
  static const std::array<std::string, 4> kWords{"none", "crop", "flip", "crop+flip"};
  const std::string word = reader.word("augment", kWords, "none");
  return {.crop = word.starts_with("crop"), .flip = word.ends_with("flip")};
}

Augmenter::Augmenter(Augmentation augmentation, const DataShape& shape, std::uint64_t seed)
    : augmentation_(augmentation), shape_(shape), seed_(mix(seed ^ kChangesStream)) {
  const auto least = static_cast<std::size_t>(2 * kPadding);
  if (augmentation.crop && (shape.height <= least || shape.width <= least)) {
    throw usage_error("augment=crop needs images of more than 8x8; the data set has " +
                      to_words(shape));
  }
}

void Augmenter::apply(std::uint64_t epoch,
                      std::span<const std::uint64_t> examples,
                      std::span<float> inputs) {
  if (augmentation_ == Augmentation{}) {
    return;
  }
  CHECK(inputs.size() == examples.size() * shape_.inputs());
  const std::size_t plane = shape_.height * shape_.width;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const Change drawn = draw(epoch, examples[i]);
    for (std::size_t channel = 0; channel < shape_.channels; ++channel) {
      change(drawn, inputs.subspan(i * shape_.inputs() + channel * plane, plane));
    }
  }
}

Augmenter::Change Augmenter::draw(std::uint64_t epoch, std::uint64_t example) const {
  Rng rng(seed_ + epoch, example);
  Change drawn;
  if (augmentation_.crop) {
    drawn.right = shift(rng);
    drawn.down = shift(rng);
  }
  drawn.mirrored = augmentation_.flip && rng.below(2) == 1;
  return drawn;
}

void Augmenter::change(const Change& change, std::span<float> plane) {
  const auto height = static_cast<std::int64_t>(shape_.height);
  const auto width = static_cast<std::int64_t>(shape_.width);
  before_.assign(plane.begin(), plane.end());
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t from_y = y - change.down;
      const std::int64_t from_x = (change.mirrored ? width - 1 - x : x) - change.right;
      const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
      plane[static_cast<std::size_t>(y * width + x)] =
          inside ? before_[static_cast<std::size_t>(from_y * width + from_x)] : 0.0F;
    }
  }
}

}  // namespace outpace::learn
