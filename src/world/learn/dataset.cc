#include "learn/dataset.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "learn/augment.h"
#include "learn/cifar10.h"
#include "learn/csv_table.h"
#include "learn/images.h"
#include "learn/windows.h"

namespace outpace::learn {
namespace {

constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

bool is_images(const Spec& spec) {
  return spec.name == "fashion-mnist" || spec.name == "cifar10" || spec.name == "idx";
}

std::string folder_of(const Spec& spec, SpecReader& reader) {
  const bool given =
      spec.name != "fashion-mnist" || std::ranges::any_of(spec.options, [](const auto& option) {
        return option.first != "augment";
      });
  return given ? reader.text("dir", "the folder of the four IDX files") : kFashionMnistFolder;
}

Cifar10Options cifar10_options(SpecReader& reader) {
  const Cifar10Options otherwise;
  return {.folder = reader.text("dir", "the folder of CIFAR-10's binary version"),
          .train = reader.count("train", otherwise.train, 1, otherwise.train),
          .test = reader.count("test", otherwise.test, 1, otherwise.test)};
}

// What a data set of images needs.
struct ImageOptions {
  std::string folder;
  Cifar10Options cifar10;
  Augmentation augmentation;
};
ImageOptions image_options(const Spec& spec) {
  SpecReader reader("data set", spec);
  ImageOptions options;
  if (spec.name == "cifar10") {
    options.cifar10 = cifar10_options(reader);
  } else {
    options.folder = folder_of(spec, reader);
  }
  options.augmentation = read_augmentation(reader);
  reader.finish();
  return options;
}

TableOptions table_options(SpecReader& reader) {
  const TableOptions otherwise;
  return {.file = reader.text("file", "the CSV file"),
          .test_every = reader.count("test-every", otherwise.test_every, 2, 1'000'000)};
}

TextOptions text_options(SpecReader& reader) {
  const TextOptions otherwise;
  return {.file = reader.text("file", "the file of text"),
          .context = reader.count("context", otherwise.context, 1, kContextMax)};
}

Error unknown(const Spec& spec) {
  static const std::vector<std::string> kNames{"fashion-mnist", "cifar10", "idx", "csv", "text"};
  return usage_error("unknown data set '" + spec.name + "'" + suggestion(spec.name, kNames));
}

}  // namespace

std::string to_words(const DataShape& shape) {
  switch (shape.kind) {
    case DataKind::kImages:
      return std::string(shape.channels == 1 ? "" : "colour ") + "images of " +
             std::to_string(shape.height) + "x" + std::to_string(shape.width) + " in " +
             std::to_string(shape.classes) + " classes";
    case DataKind::kFeatures:
      return "rows of " + std::to_string(shape.width) + " features in " +
             std::to_string(shape.classes) + " classes";
    case DataKind::kText:
      break;
  }
  return "text of " + std::to_string(shape.classes) + " different characters";
}

void Dataset::gather(std::span<const std::uint64_t> indices,
                     std::span<float> inputs,
                     std::span<std::int64_t> labels) const {
  CHECK(inputs.size() >= indices.size() * shape().inputs());
  CHECK(labels.size() >= indices.size() * shape().labels());
  for (const std::uint64_t index : indices) {
    CHECK(index < examples());
  }
  copy(indices, inputs, labels);
}

std::unique_ptr<Dataset> load_dataset(const Spec& spec, Part part) {
  if (is_images(spec)) {
    const ImageOptions options = image_options(spec);
    if (spec.name == "cifar10") {
      return load_cifar10(options.cifar10, part);
    }
    return spec.name == "idx" ? load_idx(options.folder, part)
                              : load_fashion_mnist(options.folder, part);
  }
  SpecReader reader("data set", spec);
  if (spec.name == "csv") {
    const TableOptions options = table_options(reader);
    reader.finish();
    return load_table(options, part);
  }
  if (spec.name == "text") {
    const TextOptions options = text_options(reader);
    reader.finish();
    return load_text(options, part);
  }
  throw unknown(spec);
}

DataShape dataset_shape(const Spec& spec) {
  if (is_images(spec)) {
    const ImageOptions options = image_options(spec);
    if (spec.name == "cifar10") {
      return check_cifar10(options.cifar10);
    }
    return spec.name == "idx" ? check_idx(options.folder) : check_fashion_mnist(options.folder);
  }
  // It is one file, which is read whole for either part.
  return load_dataset(spec, Part::kTest)->shape();
}

Augmentation dataset_augmentation(const Spec& spec) {
  return is_images(spec) ? image_options(spec).augmentation : Augmentation{};
}

}  // namespace outpace::learn
