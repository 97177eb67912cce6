#include "learn/dataset.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "learn/idx.h"

namespace outpace::learn {
namespace {

constexpr const char* kFolder = "/usr/share/datasets/fashion-mnist";

// Mean and standard deviation of Fashion-MNIST's training pixels, as fractions of 255.
constexpr float kMean = 0.2860F;
constexpr float kDeviation = 0.3530F;

const std::array<std::string, 1>& names() {
  static const std::array<std::string, 1> kNames{"fashion-mnist"};
  return kNames;
}

// The folder that the spec names; paths are free text, which SpecReader does not read.
std::string folder(const Spec& spec) {
  if (std::find(names().begin(), names().end(), spec.name) == names().end()) {
    throw usage_error("unknown data set '" + spec.name + "'" + suggestion(spec.name, names()));
  }
  std::string folder = kFolder;
  for (const auto& [key, value] : spec.options) {
    if (!key.empty() && key != "dir") {
      throw usage_error("data set '" + spec.text + "': unknown option '" + key + "'" +
                        suggestion(key, std::array<std::string, 1>{"dir"}));
    }
    if (folder != kFolder) {
      throw usage_error("data set '" + spec.text + "': 'dir' is given twice");
    }
    folder = value;
  }
  return folder;
}

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

}  // namespace

Dataset Dataset::load(const Spec& spec, Part part) {
  const std::string directory = folder(spec);
  Idx images = read_idx(directory, images_name(part), {kSide, kSide});
  Idx labels = read_idx(directory, labels_name(part), {});
  require_as_many(images, labels);
  const auto wrong = std::find_if(labels.bytes.begin(), labels.bytes.end(), [](std::uint8_t label) {
    return label >= kClasses;
  });
  if (wrong != labels.bytes.end()) {
    throw usage_error(labels.path + ": label " + std::to_string(*wrong) + " of example " +
                      std::to_string(wrong - labels.bytes.begin()) +
                      "; labels from 0 to 9 were expected");
  }
  Dataset dataset;
  dataset.pixels_ = std::move(images.bytes);
  dataset.labels_ = std::move(labels.bytes);
  for (int value = 0; value < 256; ++value) {
    dataset.normalised_.push_back((static_cast<float>(value) / 255.0F - kMean) / kDeviation);
  }
  return dataset;
}

void Dataset::check(const Spec& spec) {
  const std::string directory = folder(spec);
  for (const Part part : {Part::kTrain, Part::kTest}) {
    require_as_many(read_idx_header(directory, images_name(part), {kSide, kSide}),
                    read_idx_header(directory, labels_name(part), {}));
  }
}

void Dataset::gather(std::span<const std::uint64_t> indices,
                     std::span<float> pixels,
                     std::span<std::int64_t> labels) const {
  CHECK(pixels.size() >= indices.size() * kPixels && labels.size() >= indices.size());
  const float* normalised = normalised_.data();
  float* out = pixels.data();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    CHECK(indices[i] < examples());
    const std::uint8_t* image = pixels_.data() + indices[i] * kPixels;
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
      *out++ = normalised[image[pixel]];
    }
    labels[i] = labels_[indices[i]];
  }
}

std::span<const std::string> dataset_names() {
  return names();
}

}  // namespace outpace::learn
