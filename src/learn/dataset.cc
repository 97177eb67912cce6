#include "learn/dataset.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "learn/csv_table.h"
#include "learn/images.h"
#include "learn/windows.h"

namespace outpace::learn {
namespace {

constexpr const char* kFashionMnistFolder = "/usr/share/datasets/fashion-mnist";

const std::array<DatasetDoc, 4>& kinds_of_dataset() {
  static const std::array<DatasetDoc, 4> kDocs{{
      {"fashion-mnist", "fashion-mnist[:dir=DIR]", "28x28 images, from Debian's package or DIR"},
      {"idx", "idx:DIR", "grey images of any size in the four IDX files of MNIST"},
      {"csv", "csv:FILE[,test-every=10]", "a row an example; the last column is the label"},
      {"text", "text:FILE[,context=64]", "windows of characters, to predict the next"},
  }};
  return kDocs;
}

std::string folder_of(const Spec& spec, SpecReader& reader) {
  const bool given = spec.name != "fashion-mnist" || !spec.options.empty();
  return given ? reader.text("dir", "the folder of the four IDX files") : kFashionMnistFolder;
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
  std::vector<std::string> names;
  for (const DatasetDoc& doc : kinds_of_dataset()) {
    names.push_back(doc.name);
  }
  return usage_error("unknown data set '" + spec.name + "'" + suggestion(spec.name, names));
}

}  // namespace

std::string to_words(const DataShape& shape) {
  switch (shape.kind) {
    case DataKind::kImages:
      return "images of " + std::to_string(shape.height) + "x" + std::to_string(shape.width) +
             " in " + std::to_string(shape.classes) + " classes";
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

std::span<const DatasetDoc> dataset_docs() {
  return kinds_of_dataset();
}

std::unique_ptr<Dataset> load_dataset(const Spec& spec, Part part) {
  SpecReader reader("data set", spec);
  if (spec.name == "fashion-mnist" || spec.name == "idx") {
    const std::string folder = folder_of(spec, reader);
    reader.finish();
    return spec.name == "idx" ? load_idx(folder, part) : load_fashion_mnist(folder, part);
  }
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
  if (spec.name == "fashion-mnist" || spec.name == "idx") {
    SpecReader reader("data set", spec);
    const std::string folder = folder_of(spec, reader);
    reader.finish();
    return spec.name == "idx" ? check_idx(folder) : check_fashion_mnist(folder);
  }
  // It is one file, which is read whole for either part.
  return load_dataset(spec, Part::kTest)->shape();
}

}  // namespace outpace::learn
