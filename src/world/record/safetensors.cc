#include "record/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error.h"
#include "record/output_file.h"
#include "record/safetensors_header.h"

namespace outpace::record {
namespace {

// The numbers are copied to and from the file byte by byte.
static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kLengthBytes = 8;

std::span<const char> as_chars(std::span<const float> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

void read_exactly(std::ifstream& file, char* to, std::uint64_t size) {
  if (!file.read(to, static_cast<std::streamsize>(size))) {
    refuse_safetensors("cannot be read to its end");
  }
}

void check_tensor(const HeaderTensor& tensor) {
  const std::string& name = tensor.info.name;
  if (tensor.dtype != "F32") {
    refuse_safetensors(fmt::format("tensor {} is {}; only F32 is supported: convert the file",
                                   in_quotes(name),
                                   in_quotes(tensor.dtype)));
  }
  const std::uint64_t numbers = tensor.info.numbers();
  if (numbers == 0) {
    refuse_safetensors(fmt::format("tensor {} is empty", in_quotes(name)));
  }
  // Compared in numbers, because four times as many bytes may overflow 64 bits.
  if (tensor.begin > tensor.end || (tensor.end - tensor.begin) % sizeof(float) != 0 ||
      (tensor.end - tensor.begin) / sizeof(float) != numbers) {
    refuse_safetensors(
        fmt::format("tensor {} has the data offsets {} to {}, which do not fit its shape",
                    in_quotes(name),
                    tensor.begin,
                    tensor.end));
  }
}

// Checks that the tensors cover each byte of the buffer exactly once, and returns them in the order
// of their data.
protocol::Manifest manifest_of(std::vector<HeaderTensor> tensors, std::uint64_t buffer_bytes) {
  std::ranges::sort(tensors, {}, &HeaderTensor::begin);
  protocol::Manifest manifest;
  manifest.tensors.reserve(tensors.size());
  std::uint64_t covered = 0;
  for (HeaderTensor& tensor : tensors) {
    check_tensor(tensor);
    if (tensor.begin != covered) {
      refuse_safetensors(fmt::format(
          "tensor {} begins at byte {} of the data, {} at byte {}",
          in_quotes(tensor.info.name),
          tensor.begin,
          tensor.begin < covered ? "but the one before it ends" : "a hole after the one that ends",
          covered));
    }
    covered = tensor.end;
    manifest.tensors.push_back(std::move(tensor.info));
  }
  if (covered != buffer_bytes) {
    refuse_safetensors(
        fmt::format("its tensors take {} bytes, but {} follow the header", covered, buffer_bytes));
  }
  return manifest;
}

Weights read(const std::filesystem::path& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) {
    refuse_safetensors(error.message());
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    refuse_safetensors(std::error_code(errno, std::generic_category()).message());
  }
  if (size < kLengthBytes) {
    refuse_safetensors(fmt::format("it is cut short: {} bytes", size));
  }
  std::array<char, kLengthBytes> length{};
  read_exactly(file, length.data(), length.size());
  const auto header_bytes = std::bit_cast<std::uint64_t>(length);
  if (header_bytes > kHeaderBytesMax) {
    refuse_safetensors(
        fmt::format("a header of {} bytes; at most {} are allowed (is it safetensors?)",
                    header_bytes,
                    kHeaderBytesMax));
  }
  if (header_bytes > size - kLengthBytes) {
    refuse_safetensors(fmt::format(
        "it is cut short: {} bytes, but its header alone takes {}", size, header_bytes));
  }
  std::string text(header_bytes, '\0');
  read_exactly(file, text.data(), header_bytes);
  SafetensorsHeader header = parse_safetensors_header(text);

  const std::uint64_t buffer_bytes = size - kLengthBytes - header_bytes;
  Weights weights{.manifest = manifest_of(std::move(header.tensors), buffer_bytes),
                  .numbers = {},
                  .metadata = std::move(header.metadata)};
  if (buffer_bytes / sizeof(float) > protocol::kWeightsMax) {
    refuse_safetensors(fmt::format("it holds more than {} numbers", protocol::kWeightsMax));
  }
  weights.numbers.resize(buffer_bytes / sizeof(float));
  read_exactly(file, reinterpret_cast<char*>(weights.numbers.data()), buffer_bytes);
  return weights;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path,
                       const protocol::Manifest& manifest,
                       std::span<const float> numbers,
                       const Metadata& metadata) {
  write_safetensors(path, manifest, std::array{numbers}, metadata);
}

void write_safetensors(const std::filesystem::path& path,
                       const protocol::Manifest& manifest,
                       std::span<const std::span<const float>> parts,
                       const Metadata& metadata) {
  std::string header;
  try {
    header = safetensors_header(manifest, metadata);
  } catch (const Error& error) {
    throw Error(error.code(), "cannot write " + path.string() + ": " + error.what());
  }
  const auto length =
      std::bit_cast<std::array<char, kLengthBytes>>(static_cast<std::uint64_t>(header.size()));
  std::vector<std::span<const char>> bytes{length, header};
  std::uint64_t numbers = 0;
  for (const std::span<const float> part : parts) {
    bytes.push_back(as_chars(part));
    numbers += part.size();
  }
  CHECK(manifest.numbers() == numbers);
  write_atomically(path, bytes);
}

Weights read_safetensors(const std::filesystem::path& path) {
  try {
    return read(path);
  } catch (const Error& error) {
    throw Error(error.code(), "cannot read " + path.string() + ": " + error.what());
  }
}

}  // namespace outpace::record
