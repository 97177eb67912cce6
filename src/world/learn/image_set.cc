// Tested by src/world/learn/images_test.cc.

#include "learn/image_set.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace outpace::learn {
namespace {

using Counts = std::array<std::uint64_t, 256>;

// Counting values instead of adding them up is exact in any order.
Standardised standardised_by(const Counts& counts, std::uint64_t pixels) {
  const auto all = static_cast<double>(pixels);
  double mean = 0.0;
  for (std::size_t value = 0; value < counts.size(); ++value) {
    mean += static_cast<double>(value) / 255.0 * (static_cast<double>(counts[value]) / all);
  }
  double variance = 0.0;
  for (std::size_t value = 0; value < counts.size(); ++value) {
    const double away = static_cast<double>(value) / 255.0 - mean;
    variance += away * away * (static_cast<double>(counts[value]) / all);
  }
  // If all pixels are equal, any scale will do.
  const bool varied = *std::max_element(counts.begin(), counts.end()) < pixels;
  return standardised(static_cast<float>(mean),
                      varied ? static_cast<float>(std::sqrt(variance)) : 1.0F);
}

class Images final : public Dataset {
 public:
  Images(ImageSet images, std::vector<Standardised> tables)
      : images_(std::move(images)), tables_(std::move(tables)) {
    CHECK(tables_.size() == images_.shape.channels);
    CHECK(images_.pixels.size() == images_.labels.size() * images_.shape.inputs());
  }

  [[nodiscard]] const DataShape& shape() const override { return images_.shape; }
  [[nodiscard]] std::size_t examples() const override { return images_.labels.size(); }

 private:
  void copy(std::span<const std::uint64_t> indices,
            std::span<float> inputs,
            std::span<std::int64_t> labels) const override {
    const std::size_t each = shape().inputs();
    const std::size_t plane = each / tables_.size();
    float* out = inputs.data();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint8_t* next = images_.pixels.data() + indices[i] * each;
      for (const Standardised& table : tables_) {
        for (std::size_t pixel = 0; pixel < plane; ++pixel) {
          *out++ = table[*next++];
        }
      }
      labels[i] = images_.labels[indices[i]];
    }
  }

  ImageSet images_;
  std::vector<Standardised> tables_;
};

}  // namespace

Standardised standardised(float mean, float deviation) {
  Standardised table{};
  for (std::size_t value = 0; value < table.size(); ++value) {
    table[value] = (static_cast<float>(value) / 255.0F - mean) / deviation;
  }
  return table;
}

std::vector<Standardised> standardised_by(const DataShape& shape,
                                          const std::vector<std::uint8_t>& pixels) {
  const std::size_t plane = shape.height * shape.width;
  std::vector<Counts> counts(shape.channels);
  for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
    ++counts[pixel / plane % shape.channels][pixels[pixel]];
  }
  std::vector<Standardised> tables;
  for (const Counts& of_channel : counts) {
    tables.push_back(standardised_by(of_channel, pixels.size() / shape.channels));
  }
  return tables;
}

std::unique_ptr<Dataset> make_images(ImageSet images, std::vector<Standardised> tables) {
  return std::make_unique<Images>(std::move(images), std::move(tables));
}

}  // namespace outpace::learn
