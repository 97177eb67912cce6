#include "record/runtime_model_file.h"

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace outpace::record {
namespace {

using runtime_model::DeepShape;
using runtime_model::DeepTensor;
using runtime_model::DeepWeights;

constexpr const char* kFormat = "outpace runtime model 2";
constexpr const char* kModel = "deep";
constexpr const char* kJoint = "deep-joint";

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

std::uint32_t size_in(const Metadata& metadata,
                      const std::string& key,
                      std::uint32_t most = runtime_model::kDeepShapeMost) {
  const auto size = parse_count(entry(metadata, key));
  if (!size || *size < 1 || *size > most) {
    throw Error(ExitCode::kUnreadable,
                "its metadata's '" + key + "' is '" + entry(metadata, key) +
                    "'; it takes a number from 1 to " + std::to_string(most));
  }
  return static_cast<std::uint32_t>(*size);
}

double number_in(const Metadata& metadata, const std::string& key) {
  const auto number = parse_number(entry(metadata, key));
  if (!number) {
    throw Error(
        ExitCode::kUnreadable,
        "its metadata's '" + key + "' is '" + entry(metadata, key) + "'; it takes a number");
  }
  return *number;
}

DeepWeights to_weights(Weights file) {
  const std::string model = entry(file.metadata, "model");
  if (entry(file.metadata, "format") != kFormat || (model != kModel && model != kJoint)) {
    throw Error(ExitCode::kUnreadable,
                "it is no runtime model of this version; `outpace fit` makes them");
  }
  DeepWeights weights{.shape = {.hidden = size_in(file.metadata, "hidden"),
                                .latent = size_in(file.metadata, "latent"),
                                .components = size_in(file.metadata, "components")},
                      .numbers = std::move(file.numbers)};
  if (model == kJoint) {
    weights.shape.workers = size_in(file.metadata, "workers", runtime_model::kJointWorkersMost);
    weights.mean = number_in(file.metadata, "mean");
    weights.deviation = number_in(file.metadata, "deviation");
  }
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
  metadata["model"] = is_joint(weights.shape) ? kJoint : kModel;
  if (is_joint(weights.shape)) {
    metadata["workers"] = std::to_string(weights.shape.workers);
    metadata["mean"] = fmt::format("{}", weights.mean);
    metadata["deviation"] = fmt::format("{}", weights.deviation);
  }
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
