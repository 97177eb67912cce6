// Labelled examples in memory: what workers compute gradients on and the evaluator counts.
//
// Read once from files, and checked while being read; a Dataset is well formed. What a network has
// to fit, its DataShape, is found from the data alone, so that every process of a job finds the
// same. No libtorch here. Immutable, so threads may share one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/spec.h"

namespace outpace::learn {

enum class Part : std::uint8_t { kTrain, kTest };
enum class DataKind : std::uint8_t { kImages, kFeatures, kText };

struct DataShape {
  DataKind kind;
  std::size_t height;   // Of an image; else 1.
  std::size_t width;    // Of an image; the features of a row; the characters of a context.
  std::size_t classes;  // Labels are below it. Of text: the different characters.

  // Numbers and labels of one example. A text has a label, the next character, at each place.
  [[nodiscard]] std::size_t inputs() const { return height * width; }
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

  // Writes the examples' numbers, one example after the other, and their labels. Images and
  // features are standardised: mean 0, deviation 1 over the training part. Characters are their
  // index in the vocabulary, which a float holds exactly.
  // REQUIRES: every index is below examples(); room for shape().inputs() numbers and
  // shape().labels() labels for each.
  void gather(std::span<const std::uint64_t> indices,
              std::span<float> inputs,
              std::span<std::int64_t> labels) const;

 private:
  // gather(), once what it requires has been checked.
  virtual void copy(std::span<const std::uint64_t> indices,
                    std::span<float> inputs,
                    std::span<std::int64_t> labels) const = 0;
};

// For help texts and messages.
struct DatasetDoc {
  std::string name;
  std::string form;  // As it is written: "csv:FILE[,test-every=10]".
  std::string what;
};
[[nodiscard]] std::span<const DatasetDoc> dataset_docs();

// Throws a usage error that names the file, what is wrong, and what would be right.
[[nodiscard]] std::unique_ptr<Dataset> load_dataset(const Spec& spec, Part part);
// What load_dataset() would find in both parts. Throws as it does, but for fashion-mnist, whose
// shape is known, reads no further than the files' headers.
[[nodiscard]] DataShape dataset_shape(const Spec& spec);

}  // namespace outpace::learn
