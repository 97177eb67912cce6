#include "learn/windows.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::learn {
namespace {

class TextFile : public testing::Test {
 protected:
  std::unique_ptr<Dataset> load(const std::string& text, Part part, std::size_t context) {
    put(folder_ / "a.txt", text);
    return load_text({.file = folder_ / "a.txt", .context = context}, part);
  }
  // With code and folder left out.
  std::string complaint(const std::string& text, std::size_t context) {
    const std::string said = error_of([&] { (void)load(text, Part::kTrain, context); });
    EXPECT_TRUE(said.starts_with("2: " + folder_.path().string() + "/")) << said;
    return said.substr(std::min(said.size(), 4 + folder_.path().string().size()));
  }

  const TemporaryDirectory folder_;
};

// Sixty characters: 54 to train on, 6 to test. The vocabulary is "\n", "a", "b", "\xff".
const std::string& text() {
  static const std::string kText = [] {
    std::string made;
    for (int i = 0; i < 15; ++i) {
      made += "b\na\xff";
    }
    return made;
  }();
  return kText;
}

TEST_F(TextFile, IsCutIntoWindowsWhoseLabelsAreOneFurtherOn) {
  const auto train = load(text(), Part::kTrain, 5);
  EXPECT_EQ(train->shape(),
            (DataShape{.kind = DataKind::kText, .height = 1, .width = 5, .classes = 4}));
  EXPECT_EQ(train->shape().labels(), 5U);
  EXPECT_EQ(train->examples(), 10U);  // The last has characters 45 to 50; three are left over.
  std::vector<float> inputs(10);
  std::vector<std::int64_t> labels(10);
  train->gather(std::vector<std::uint64_t>{9, 2}, inputs, labels);
  EXPECT_EQ(inputs, (std::vector<float>{0, 1, 3, 2, 0, 1, 3, 2, 0, 1}));
  EXPECT_EQ(labels, (std::vector<std::int64_t>{1, 3, 2, 0, 1, 3, 2, 0, 1, 3}));
}

TEST_F(TextFile, HasItsLastTenthAsTheTestPart) {
  const auto test = load(text(), Part::kTest, 5);
  ASSERT_EQ(test->examples(), 1U);
  std::vector<float> inputs(5);
  std::vector<std::int64_t> labels(5);
  test->gather(std::vector<std::uint64_t>{0}, inputs, labels);
  EXPECT_EQ(inputs, (std::vector<float>{1, 3, 2, 0, 1}));
  EXPECT_EQ(labels, (std::vector<std::int64_t>{3, 2, 0, 1, 3}));
}

// Each character of the training part but the first is a label once, as far as windows go.
TEST_F(TextFile, PredictsEveryCharacterOnceAnEpoch) {
  for (const std::size_t length : {20U, 97U, 100U, 101U, 109U}) {
    std::string digits;
    for (std::size_t i = 0; i < length; ++i) {
      digits += static_cast<char>(i);
    }
    const auto train = load(digits, Part::kTrain, 1);
    std::vector<std::uint64_t> all;
    for (std::uint64_t i = 0; i < train->examples(); ++i) {
      all.push_back(i);
    }
    EXPECT_EQ(all.size(), length * 9 / 10 - 1);
    std::vector<float> inputs(all.size());
    std::vector<std::int64_t> labels(all.size());
    train->gather(all, inputs, labels);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(labels[i], static_cast<std::int64_t>(i + 1));
    }
    EXPECT_EQ(load(digits, Part::kTest, 1)->examples(), length - length * 9 / 10 - 1);
  }
}

TEST_F(TextFile, IsRefusedIfTooShortOrAllTheSame) {
  EXPECT_EQ(complaint(text(), 6),
            "a.txt: 60 characters, of which the last tenth is the test part; that must be longer "
            "than the context of 6");
  EXPECT_EQ(complaint(std::string(60, 'a'), 3),
            "a.txt: all characters are the same; at least two different ones are needed");
  EXPECT_EQ(complaint("", 3), "a.txt: is empty; a file of 1 to 2147483648 bytes was expected");
}

}  // namespace
}  // namespace outpace::learn
