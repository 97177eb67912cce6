#include "record/runtime_model_file.h"

#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace outpace::record {
namespace {

using runtime_model::DeepShape;
using runtime_model::DeepTensor;
using runtime_model::DeepWeights;

constexpr const char* kFormat = "outpace runtime model 2";
constexpr const char* kModel = "deep";

protocol::Manifest manifest_of(const DeepShape& shape) {
  protocol::Manifest manifest;
  for (DeepTensor& tensor : runtime_model::deep_tensors(shape)) {
    manifest.tensors.push_back(
        {.name = std::move(tensor.name), .shape = std::move(tensor.dimensions)});
  }
  return manifest;
}

std::string entry(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

std::uint32_t size_in(const Metadata& metadata, const std::string& key) {
  const auto size = parse_count(entry(metadata, key));
  if (!size || *size < 1 || *size > runtime_model::kDeepShapeMost) {
    throw Error(ExitCode::kUnreadable,
                "its metadata's '" + key + "' is '" + entry(metadata, key) +
                    "'; it takes a number from 1 to " +
                    std::to_string(runtime_model::kDeepShapeMost));
  }
  return static_cast<std::uint32_t>(*size);
}

DeepWeights to_weights(Weights file) {
  if (entry(file.metadata, "format") != kFormat || entry(file.metadata, "model") != kModel) {
    throw Error(ExitCode::kUnreadable,
                "it is no runtime model of this version; `outpace fit` makes them");
  }
  DeepWeights weights{.shape = {.hidden = size_in(file.metadata, "hidden"),
                                .latent = size_in(file.metadata, "latent"),
                                .components = size_in(file.metadata, "components")},
                      .numbers = std::move(file.numbers)};
  const protocol::Manifest expected = manifest_of(weights.shape);
  for (std::size_t i = 0; i < expected.tensors.size(); ++i) {
    if (i >= file.manifest.tensors.size() || !(file.manifest.tensors[i] == expected.tensors[i])) {
      throw Error(ExitCode::kUnreadable,
                  "the tensor '" + expected.tensors[i].name +
                      "' is missing, out of its place, or not of the shape that its metadata says");
    }
  }
  runtime_model::check(weights);
  return weights;
}

}  // namespace

void write_runtime_model(const std::filesystem::path& path,
                         const DeepWeights& weights,
                         const Metadata& about) {
  Metadata metadata = about;
  metadata["format"] = kFormat;
  metadata["model"] = kModel;
  metadata["hidden"] = std::to_string(weights.shape.hidden);
  metadata["latent"] = std::to_string(weights.shape.latent);
  metadata["components"] = std::to_string(weights.shape.components);
  write_safetensors(path, manifest_of(weights.shape), weights.numbers, metadata);
}

DeepWeights read_runtime_model(const std::filesystem::path& path) {
  Weights file = read_safetensors(path);
  try {
    return to_weights(std::move(file));
  } catch (const Error& error) {
    throw Error(error.code(), "cannot read " + path.string() + ": " + error.what());
  }
}

}  // namespace outpace::record
