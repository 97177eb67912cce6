// Labelled examples in memory, for gradients and evaluations.
//
// Data is read once from files and checked meanwhile; a Dataset is well formed. Its DataShape,
// which a network has to fit, is determined by the data alone, so that every process of a job finds
// the same shape. Does not use libtorch. Immutable, so threads may share it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/spec.h"

namespace outpace::learn {

struct Augmentation;

enum class Part : std::uint8_t { kTrain, kTest };
enum class DataKind : std::uint8_t { kImages, kFeatures, kText };

struct DataShape {
  DataKind kind;
  std::size_t height;        // Rows of an image; otherwise 1.
  std::size_t width;         // An image's columns; a row's features; the characters of a context.
  std::size_t classes;       // Labels are below it. For text, the number of distinct characters.
  std::size_t channels = 1;  // An image's: 1 is grey, 3 are red, green and blue.

  // Numbers and labels per example. A text has a label at each place, the next character.
  [[nodiscard]] std::size_t inputs() const { return channels * height * width; }
  [[nodiscard]] std::size_t labels() const { return kind == DataKind::kText ? width : 1; }

  bool operator==(const DataShape&) const = default;
};
// "images of 28x28 in 10 classes", for messages.
[[nodiscard]] std::string to_words(const DataShape& shape);

class Dataset {
 public:
  virtual ~Dataset() = default;

  [[nodiscard]] virtual const DataShape& shape() const = 0;
  [[nodiscard]] virtual std::size_t examples() const = 0;

  // Writes the numbers of the examples, one example after another, and their labels. Images and
  // features are standardised: mean 0, deviation 1 over the training part, for each channel and
  // each feature. An image is one plane after another, row by row. Characters are their
  // index in the vocabulary, which a float holds exactly. REQUIRES: every index is below
  // examples(); `inputs` has room for shape().inputs() numbers and `labels` for shape().labels()
  // labels per example.
  void gather(std::span<const std::uint64_t> indices,
              std::span<float> inputs,
              std::span<std::int64_t> labels) const;

 private:
  // Implements gather(); its requirements have been checked.
  virtual void copy(std::span<const std::uint64_t> indices,
                    std::span<float> inputs,
                    std::span<std::int64_t> labels) const = 0;
};

// Throws a usage error that names the file, what is wrong, and what would be right.
[[nodiscard]] std::unique_ptr<Dataset> load_dataset(const Spec& spec, Part part);
// The shape that load_dataset() would find in both parts. Throws as it does. For fashion-mnist and
// cifar10, whose shape is known, it reads only the files' headers or sizes.
[[nodiscard]] DataShape dataset_shape(const Spec& spec);
// How its training images are changed before a gradient is computed on them. Throws as above.
[[nodiscard]] Augmentation dataset_augmentation(const Spec& spec);

}  // namespace outpace::learn
