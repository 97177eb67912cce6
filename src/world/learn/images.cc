#include "learn/images.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/error.h"
#include "learn/idx.h"
#include "learn/image_set.h"

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
constexpr const char* kIdxColourRemedy =
    "; a folder of colour images must hold train-images-idx4-ubyte, train-labels-idx1-ubyte and "
    "the same of t10k, gzipped or not";

std::string images_name(Part part, const char* rank = "3") {
  return std::string(part == Part::kTrain ? "train" : "t10k") + "-images-idx" + rank + "-ubyte";
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

IdxForm fashion_mnist_images() {
  return {.example_shape = {28, 28}, .remedy = kFashionMnistRemedy};
}
IdxForm fashion_mnist_labels() {
  return {.example_shape = {}, .remedy = kFashionMnistRemedy};
}

// An image's pixels with their channels side by side become a plane for each channel.
void separate_channels(Idx& images) {
  const std::size_t places = std::size_t{images.extents[1]} * images.extents[2];
  const std::size_t channels = images.extents[3];
  std::vector<std::uint8_t> image(places * channels);
  for (auto from = images.bytes.begin(); from != images.bytes.end();
       from += static_cast<std::ptrdiff_t>(image.size())) {
    for (std::size_t pixel = 0; pixel < image.size(); ++pixel) {
      image[pixel % channels * places + pixel / channels] =
          from[static_cast<std::ptrdiff_t>(pixel)];
    }
    std::copy(image.begin(), image.end(), from);
  }
}

bool has(const std::string& folder, const std::string& name) {
  std::error_code failure;
  return std::filesystem::exists(folder + "/" + name, failure) ||
         std::filesystem::exists(folder + "/" + name + ".gz", failure);
}

// Any four matching files.
struct Folder {
  explicit Folder(const std::string& path)
      : path_(path), has_channels_(has(path, images_name(Part::kTrain, kColour))) {
    const std::string grey = images_name(Part::kTrain);
    if (has_channels_ && has(path, grey)) {
      throw usage_error(path + ": holds " + grey + " and " + images_name(Part::kTrain, kColour) +
                        "; keep the images of one kind");
    }
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
    return read_idx(path_, labels_name(part), {.example_shape = {}, .remedy = remedy()});
  }
  [[nodiscard]] Idx images(Part part) const {
    if (!has_channels_) {
      return read_idx(path_, images_name(part), {.example_shape = {0, 0}, .remedy = remedy()});
    }
    Idx images = read_idx(path_,
                          images_name(part, kColour),
                          {.example_shape = {0, 0, kChannels}, .remedy = remedy()});
    separate_channels(images);
    return images;
  }
  [[nodiscard]] DataShape shape_of(const Idx& images) const {
    return {.kind = DataKind::kImages,
            .height = images.extents[1],
            .width = images.extents[2],
            .classes = classes_,
            .channels = has_channels_ ? kChannels : 1};
  }

 private:
  static constexpr const char* kColour = "4";
  static constexpr std::uint32_t kChannels = 3;  // Red, green and blue.

  [[nodiscard]] const char* remedy() const { return has_channels_ ? kIdxColourRemedy : kIdxRemedy; }

  std::string path_;
  bool has_channels_;
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
  return make_images({.shape = kFashionMnist,
                      .pixels = std::move(images.bytes),
                      .labels = std::move(labels.bytes)},
                     {standardised(kFashionMnistMean, kFashionMnistDeviation)});
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
  Idx images = files.images(Part::kTrain);  // Both parts are standardised by the training part.
  const DataShape shape = files.shape_of(images);
  std::vector<Standardised> tables = standardised_by(shape, images.bytes);
  if (part == Part::kTest) {
    Idx test = files.images(part);
    require_one_size(images, test);
    images = std::move(test);
  }
  Idx labels = files.labels(part);
  require_as_many(images, labels);
  return make_images(
      {.shape = shape, .pixels = std::move(images.bytes), .labels = std::move(labels.bytes)},
      std::move(tables));
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
