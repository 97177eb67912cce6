#include "protocol/messages.h"

#include <limits>

namespace outpace::protocol {
namespace {

// An untrusted manifest may claim more than 2^64 numbers. The count then saturates, and exceeds
// every limit.
constexpr std::uint64_t kTooMany = std::numeric_limits<std::uint64_t>::max();

std::string in_words(const Manifest& manifest, std::size_t place) {
  if (place >= manifest.tensors.size()) {
    return "nothing";
  }
  const TensorInfo& tensor = manifest.tensors[place];
  std::string shape;
  for (const std::uint64_t extent : tensor.shape) {
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  }
  return "'" + tensor.name + "' (" + shape + ")";
}

}  // namespace

std::string first_difference(const Manifest& here, const Manifest& job) {
  std::size_t place = 0;
  while (place < here.tensors.size() && place < job.tensors.size() &&
         here.tensors[place] == job.tensors[place]) {
    ++place;
  }
  return "tensor " + std::to_string(place + 1) + " is " + in_words(here, place) + " here, and " +
         in_words(job, place) + " in the job";
}

std::uint64_t TensorInfo::numbers() const {
  std::uint64_t product = 1;
  for (const std::uint64_t extent : shape) {
    if (extent == 0) {
      return 0;
    }
    product = product > kTooMany / extent ? kTooMany : product * extent;
  }
  return product;
}

std::uint64_t Manifest::numbers() const {
  std::uint64_t sum = 0;
  for (const TensorInfo& tensor : tensors) {
    const std::uint64_t numbers = tensor.numbers();
    sum = sum > kTooMany - numbers ? kTooMany : sum + numbers;
  }
  return sum;
}

std::vector<std::size_t> Manifest::sizes() const {
  std::vector<std::size_t> sizes;
  for (const TensorInfo& tensor : tensors) {
    sizes.push_back(tensor.numbers());
  }
  return sizes;
}

}  // namespace outpace::protocol
