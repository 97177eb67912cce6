// A fitted runtime model in a file: safetensors, with the model's shape in the metadata.

#pragma once

#include <filesystem>

#include "record/safetensors.h"
#include "runtime_model/deep_weights.h"

namespace outpace::record {

// Atomically. `about`: whatever else the metadata is to say. Throws Error if the file system
// refuses.
void write_runtime_model(const std::filesystem::path& path,
                         const runtime_model::DeepWeights& weights,
                         const Metadata& about);

// Throws Error(kUnreadable) with a line that names the file and what is wrong with it; weights that
// are not finite are refused, too.
[[nodiscard]] runtime_model::DeepWeights read_runtime_model(const std::filesystem::path& path);

}  // namespace outpace::record
