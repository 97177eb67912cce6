#include "run/keep_runtime_model.h"

#include <filesystem>

#include "base/error.h"

namespace outpace::run {

void keep_runtime_model(const std::string& file, const record::RunDirectory& directory) {
  std::error_code failed;
  if (!file.empty() && !std::filesystem::copy_file(file, directory.runtime_model(), failed)) {
    throw Error(ExitCode::kFailure,
                "cannot copy " + file + " to " + directory.runtime_model().string() + ": " +
                    failed.message());
  }
}

}  // namespace outpace::run
