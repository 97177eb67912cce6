// A file with a fitted runtime model: safetensors, with the model's shape in the metadata.

#pragma once

#include <filesystem>

#include "record/safetensors.h"
#include "runtime_model/deep_weights.h"

namespace outpace::record {

// Writes atomically. `about` is further metadata. Throws Error if the file system refuses.
void write_runtime_model(const std::filesystem::path& path,
                         const runtime_model::DeepWeights& weights,
                         const Metadata& about);

// Throws Error(kUnreadable) with one line that names the file and what is wrong; weights that are
// not finite are refused too.
[[nodiscard]] runtime_model::DeepWeights read_runtime_model(const std::filesystem::path& path);

}  // namespace outpace::record
