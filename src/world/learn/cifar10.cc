#include "learn/cifar10.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "learn/data_file.h"
#include "learn/image_set.h"

namespace outpace::learn {
namespace {

constexpr std::size_t kImagesOfAFile = 10'000;
constexpr std::size_t kRecord = 1 + 3 * 32 * 32;
constexpr std::size_t kFileBytes = kImagesOfAFile * kRecord;

constexpr const char* kRemedy =
    "; the folder must hold data_batch_1.bin to data_batch_5.bin and test_batch.bin, CIFAR-10's "
    "binary version";

std::vector<std::string> files_of(const Cifar10Options& options, Part part) {
  if (part == Part::kTest) {
    return {options.folder + "/test_batch.bin"};
  }
  std::vector<std::string> files;
  for (const char* number : {"1", "2", "3", "4", "5"}) {
    files.push_back(options.folder + "/data_batch_" + number + ".bin");
  }
  return files;
}

Error wrong(const std::string& path, const std::string& what) {
  return usage_error(path + ": " + what + kRemedy);
}

void check_file(const std::string& path) {
  std::error_code failure;
  const std::uint64_t bytes = std::filesystem::file_size(path, failure);
  if (failure == std::errc::no_such_file_or_directory) {
    throw wrong(path, "no such file");
  }
  if (failure) {
    throw wrong(path, "cannot be read: " + failure.message());
  }
  if (bytes != kFileBytes) {
    throw wrong(path,
                "is " + std::to_string(bytes) + " bytes long, and " + std::to_string(kFileBytes) +
                    " were expected, 10,000 records of 3,073");
  }
}

// Adds the file's first images.
void add(const std::string& path, std::size_t count, ImageSet& images) {
  check_file(path);
  if (count == 0) {
    return;
  }
  const std::string bytes = read_data_file(path);
  if (bytes.size() != kFileBytes) {
    throw wrong(path, "it became another while it was read");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view record = std::string_view(bytes).substr(i * kRecord, kRecord);
    const auto label = static_cast<std::uint8_t>(record.front());
    if (label >= kCifar10Shape.classes) {
      throw wrong(path,
                  "label " + std::to_string(label) + " of record " + std::to_string(i) +
                      "; labels from 0 to 9 were expected");
    }
    images.labels.push_back(label);
    images.pixels.insert(images.pixels.end(), record.begin() + 1, record.end());
  }
}

}  // namespace

std::unique_ptr<Dataset> load_cifar10(const Cifar10Options& options, Part part) {
  const std::size_t wanted = part == Part::kTrain ? options.train : options.test;
  ImageSet images{.shape = kCifar10Shape, .pixels = {}, .labels = {}};
  images.pixels.reserve(wanted * (kRecord - 1));
  for (const std::string& path : files_of(options, part)) {
    add(path, std::min(kImagesOfAFile, wanted - images.labels.size()), images);
  }
  return make_images(std::move(images),
                     {standardised(0.4914F, 0.2470F),
                      standardised(0.4822F, 0.2435F),
                      standardised(0.4465F, 0.2616F)});
}

DataShape check_cifar10(const Cifar10Options& options) {
  for (const Part part : {Part::kTrain, Part::kTest}) {
    for (const std::string& path : files_of(options, part)) {
      check_file(path);
    }
  }
  return kCifar10Shape;
}

}  // namespace outpace::learn
