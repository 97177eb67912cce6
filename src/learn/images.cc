#include "learn/images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "learn/idx.h"

namespace outpace::learn {
namespace {

constexpr DataShape kFashionMnist{
    .kind = DataKind::kImages, .height = 28, .width = 28, .classes = 10};
// Mean and standard deviation of Fashion-MNIST's training pixels, as fractions of 255.
constexpr float kFashionMnistMean = 0.2860F;
constexpr float kFashionMnistDeviation = 0.3530F;

constexpr const char* kFashionMnistRemedy =
    "; install the package dataset-fashion-mnist or name another folder";
constexpr const char* kIdxRemedy =
    "; the folder must hold train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k, "
    "gzipped or not";

std::string images_name(Part part) {
  return std::string(part == Part::kTrain ? "train" : "t10k") + "-images-idx3-ubyte";
}
std::string labels_name(Part part) {
  return std::string(part == Part::kTrain ? "train" : "t10k") + "-labels-idx1-ubyte";
}

void require_as_many(const Idx& images, const Idx& labels) {
  if (images.extents[0] != labels.extents[0]) {
    throw usage_error(labels.path + ": " + std::to_string(labels.extents[0]) + " labels, but " +
                      images.path + " has " + std::to_string(images.extents[0]) +
                      " images; both must be of one data set");
  }
}

// The normalised number of each value that a byte can have: (x / 255 - mean) / deviation.
std::array<float, 256> normalised(float mean, float deviation) {
  std::array<float, 256> table{};
  for (std::size_t value = 0; value < table.size(); ++value) {
    table[value] = (static_cast<float>(value) / 255.0F - mean) / deviation;
  }
  return table;
}

// By the mean and deviation of these pixels. Counting values instead of adding them up is exact in
// any order.
std::array<float, 256> normalised_by(const std::vector<std::uint8_t>& pixels) {
  std::array<std::uint64_t, 256> counts{};
  for (const std::uint8_t pixel : pixels) {
    ++counts[pixel];
  }
  const auto all = static_cast<double>(pixels.size());
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
  const bool varied = *std::max_element(counts.begin(), counts.end()) < pixels.size();
  return normalised(static_cast<float>(mean),
                    varied ? static_cast<float>(std::sqrt(variance)) : 1.0F);
}

class Images final : public Dataset {
 public:
  Images(const DataShape& shape, Idx images, Idx labels, const std::array<float, 256>& table)
      : shape_(shape),
        pixels_(std::move(images.bytes)),
        labels_(std::move(labels.bytes)),
        normalised_(table) {}

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::size_t examples() const override { return labels_.size(); }

 private:
  void copy(std::span<const std::uint64_t> indices,
            std::span<float> inputs,
            std::span<std::int64_t> labels) const override {
    const std::size_t each = shape_.inputs();
    const float* table = normalised_.data();
    float* out = inputs.data();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint8_t* image = pixels_.data() + indices[i] * each;
      for (std::size_t pixel = 0; pixel < each; ++pixel) {
        *out++ = table[image[pixel]];
      }
      labels[i] = labels_[indices[i]];
    }
  }

  DataShape shape_;
  std::vector<std::uint8_t> pixels_;  // shape_.inputs() per example.
  std::vector<std::uint8_t> labels_;  // Below shape_.classes.
  std::array<float, 256> normalised_;
};

IdxForm fashion_mnist_images() {
  return {.example_shape = {28, 28}, .remedy = kFashionMnistRemedy};
}
IdxForm fashion_mnist_labels() {
  return {.example_shape = {}, .remedy = kFashionMnistRemedy};
}

// Any four matching files.
struct Folder {
  explicit Folder(const std::string& path) : path_(path) {
    const Idx train = labels(Part::kTrain);
    const Idx test = labels(Part::kTest);
    const std::uint8_t largest = std::max(*std::max_element(train.bytes.begin(), train.bytes.end()),
                                          *std::max_element(test.bytes.begin(), test.bytes.end()));
    if (largest == 0) {
      throw usage_error(train.path + ": all labels are 0, here and in " + test.path +
                        "; at least two classes are needed");
    }
    classes_ = std::size_t{largest} + 1;
  }

  [[nodiscard]] Idx labels(Part part) const {
    return read_idx(path_, labels_name(part), {.example_shape = {}, .remedy = kIdxRemedy});
  }
  [[nodiscard]] Idx images(Part part) const {
    return read_idx(path_, images_name(part), {.example_shape = {0, 0}, .remedy = kIdxRemedy});
  }
  [[nodiscard]] DataShape shape_of(const Idx& images) const {
    return {.kind = DataKind::kImages,
            .height = images.extents[1],
            .width = images.extents[2],
            .classes = classes_};
  }

 private:
  std::string path_;
  std::size_t classes_;
};

void require_one_size(const Idx& train, const Idx& test) {
  for (const std::size_t side : {std::size_t{1}, std::size_t{2}}) {
    if (train.extents[side] != test.extents[side]) {
      throw usage_error(test.path + ": images of " + std::to_string(test.extents[1]) + "x" +
                        std::to_string(test.extents[2]) + ", but " + train.path + " has " +
                        std::to_string(train.extents[1]) + "x" + std::to_string(train.extents[2]) +
                        "; both must be of one size");
    }
  }
}

}  // namespace

std::unique_ptr<Dataset> load_fashion_mnist(const std::string& folder, Part part) {
  Idx images = read_idx(folder, images_name(part), fashion_mnist_images());
  Idx labels = read_idx(folder, labels_name(part), fashion_mnist_labels());
  require_as_many(images, labels);
  const auto wrong = std::find_if(labels.bytes.begin(), labels.bytes.end(), [](std::uint8_t label) {
    return label >= kFashionMnist.classes;
  });
  if (wrong != labels.bytes.end()) {
    throw usage_error(labels.path + ": label " + std::to_string(*wrong) + " of example " +
                      std::to_string(wrong - labels.bytes.begin()) +
                      "; labels from 0 to 9 were expected");
  }
  return std::make_unique<Images>(kFashionMnist,
                                  std::move(images),
                                  std::move(labels),
                                  normalised(kFashionMnistMean, kFashionMnistDeviation));
}

DataShape check_fashion_mnist(const std::string& folder) {
  for (const Part part : {Part::kTrain, Part::kTest}) {
    require_as_many(read_idx_header(folder, images_name(part), fashion_mnist_images()),
                    read_idx_header(folder, labels_name(part), fashion_mnist_labels()));
  }
  return kFashionMnist;
}

std::unique_ptr<Dataset> load_idx(const std::string& folder, Part part) {
  const Folder files(folder);
  Idx images = files.images(Part::kTrain);  // Both parts are normalised by the training part.
  const std::array<float, 256> table = normalised_by(images.bytes);
  if (part == Part::kTest) {
    Idx test = files.images(part);
    require_one_size(images, test);
    images = std::move(test);
  }
  Idx labels = files.labels(part);
  require_as_many(images, labels);
  const DataShape shape = files.shape_of(images);
  return std::make_unique<Images>(shape, std::move(images), std::move(labels), table);
}

DataShape check_idx(const std::string& folder) {
  // Reads all four files to their ends, because a header only claims how large the images are.
  const Folder files(folder);
  const Idx train = files.images(Part::kTrain);
  const Idx test = files.images(Part::kTest);
  require_one_size(train, test);
  require_as_many(train, files.labels(Part::kTrain));
  require_as_many(test, files.labels(Part::kTest));
  return files.shape_of(train);
}

}  // namespace outpace::learn
