#include "learn/windows.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "learn/data_file.h"

namespace outpace::learn {
namespace {

struct Vocabulary {
  std::array<std::uint8_t, 256> index{};  // The vocabulary index of each byte that the text has.
  std::size_t size = 0;

  explicit Vocabulary(const std::string& text) {
    std::array<bool, 256> seen{};
    for (const char letter : text) {
      seen[static_cast<std::uint8_t>(letter)] = true;
    }
    for (std::size_t byte = 0; byte < seen.size(); ++byte) {
      if (seen[byte]) {
        index[byte] = static_cast<std::uint8_t>(size++);
      }
    }
  }
};

class Windows final : public Dataset {
 public:
  // REQUIRES: more characters than the context has.
  Windows(const DataShape& shape, std::vector<std::uint8_t> characters)
      : shape_(shape),
        characters_(std::move(characters)),
        windows_((characters_.size() - 1) / shape.width) {}

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::size_t examples() const override { return windows_; }

 private:
  void copy(std::span<const std::uint64_t> indices,
            std::span<float> inputs,
            std::span<std::int64_t> labels) const override {
    const std::size_t context = shape_.width;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::uint8_t* window = characters_.data() + indices[i] * context;
      for (std::size_t place = 0; place < context; ++place) {
        inputs[i * context + place] = window[place];
        labels[i * context + place] = window[place + 1];
      }
    }
  }

  DataShape shape_;
  std::vector<std::uint8_t> characters_;  // As indices into the vocabulary.
  std::size_t windows_;
};

}  // namespace

std::unique_ptr<Dataset> load_text(const TextOptions& options, Part part) {
  CHECK(options.context >= 1 && options.context <= kContextMax);
  const std::string text = read_data_file(options.file);
  const std::size_t training = text.size() / 10 * 9 + text.size() % 10 * 9 / 10;
  if (text.size() - training < options.context + 1) {  // The smaller part.
    throw usage_error(options.file + ": " + std::to_string(text.size()) +
                      " characters, of which the last tenth is the test part; that must be longer "
                      "than the context of " +
                      std::to_string(options.context));
  }
  const Vocabulary vocabulary(text);
  if (vocabulary.size < 2) {
    throw usage_error(options.file +
                      ": all characters are the same; at least two different ones are needed");
  }
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(part == Part::kTest ? training : 0);
  const auto end =
      part == Part::kTest ? text.end() : text.begin() + static_cast<std::ptrdiff_t>(training);
  std::vector<std::uint8_t> characters;
  characters.reserve(static_cast<std::size_t>(end - begin));
  std::transform(begin, end, std::back_inserter(characters), [&vocabulary](char letter) {
    return vocabulary.index[static_cast<std::uint8_t>(letter)];
  });
  const DataShape shape{
      .kind = DataKind::kText, .height = 1, .width = options.context, .classes = vocabulary.size};
  return std::make_unique<Windows>(shape, std::move(characters));
}

}  // namespace outpace::learn
