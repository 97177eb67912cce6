#include "learn/images.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/error.h"
#include "base/temporary_directory_test.h"

namespace outpace::learn {
namespace {

namespace fs = std::filesystem;

std::string header(std::uint32_t magic, const std::vector<std::uint32_t>& extents) {
  std::string bytes;
  std::vector<std::uint32_t> words{magic};
  words.insert(words.end(), extents.begin(), extents.end());
  for (const std::uint32_t word : words) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      bytes.push_back(static_cast<char>(word >> shift & 0xffU));
    }
  }
  return bytes;
}

// Two images, one all 0 and one all 255, labelled 9 and 3, in a folder of the test's own.
class DatasetFiles : public testing::Test {
 protected:
  void SetUp() override {
    contents_["train-images-idx3-ubyte"] =
        header(0x803, {2, 28, 28}) + std::string(784, '\0') + std::string(784, '\xff');
    contents_["train-labels-idx1-ubyte"] = header(0x801, {2}) + "\x09\x03";
  }

  void write_plain() const {
    for (const auto& [name, bytes] : contents_) {
      std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    }
  }
  void write_gzipped() const {
    for (const auto& [name, bytes] : contents_) {
      const gzFile file = gzopen((folder_.path() / (name + ".gz")).c_str(), "wb");
      gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
      gzclose(file);
    }
  }

  [[nodiscard]] std::unique_ptr<Dataset> load() const {
    return load_fashion_mnist(folder_.path(), Part::kTrain);
  }
  // What the call says, with code and folder left out.
  [[nodiscard]] std::string complaint_of(const std::function<void()>& call) const {
    std::string text = error_of(call);
    EXPECT_TRUE(text.starts_with("2: ")) << text;  // A usage error.
    text.erase(0, 3);
    const std::string folder = folder_.path().string();
    for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
      text.replace(at, folder.size() + 1, "");
    }
    return text;
  }
  [[nodiscard]] std::string complaint() const {
    return complaint_of([this] { (void)load(); });
  }
  // After the plain files are written.
  [[nodiscard]] std::string complaint_about_plain() const {
    write_plain();
    return complaint();
  }

  const TemporaryDirectory folder_;
  std::map<std::string, std::string> contents_;
};

constexpr const char* kRemedy =
    "; install the package dataset-fashion-mnist or name another folder";

void expect_the_two_images(const Dataset& dataset) {
  ASSERT_EQ(dataset.examples(), 2U);
  std::vector<float> pixels(3 * 784);
  std::vector<std::int64_t> labels(3);
  dataset.gather(std::vector<std::uint64_t>{1, 0, 1}, pixels, labels);
  EXPECT_EQ(labels, (std::vector<std::int64_t>{3, 9, 3}));
  const float black = (0.0F - 0.2860F) / 0.3530F;
  const float white = (1.0F - 0.2860F) / 0.3530F;
  const auto first = pixels.begin();
  EXPECT_EQ(std::count(first, first + 784, white), 784);
  EXPECT_EQ(std::count(first + 784, first + 1568, black), 784);
  EXPECT_EQ(std::count(first + 1568, pixels.end(), white), 784);
}

TEST_F(DatasetFiles, AreReadPlainAndNormalised) {
  write_plain();
  expect_the_two_images(*load());
}

TEST_F(DatasetFiles, AreReadGzippedAndNormalised) {
  write_gzipped();
  expect_the_two_images(*load());
}

TEST_F(DatasetFiles, MayBeMissing) {
  EXPECT_EQ(complaint(), std::string("train-images-idx3-ubyte.gz: no such file") + kRemedy);
  contents_.erase("train-labels-idx1-ubyte");
  EXPECT_EQ(complaint_about_plain(),
            std::string("train-labels-idx1-ubyte.gz: no such file") + kRemedy);
}

TEST_F(DatasetFiles, MayEndTooEarly) {
  contents_["train-images-idx3-ubyte"].pop_back();
  EXPECT_EQ(complaint_about_plain(),
            std::string("train-images-idx3-ubyte: ends after 1567 bytes of 1568") + kRemedy);
  contents_["train-images-idx3-ubyte"].resize(7);
  EXPECT_EQ(complaint_about_plain(),
            std::string("train-images-idx3-ubyte: ends in its header, after 7 bytes") + kRemedy);
}

TEST_F(DatasetFiles, MayBeCutOffInTheCompressedStream) {
  write_gzipped();
  const fs::path images = folder_ / "train-images-idx3-ubyte.gz";
  fs::resize_file(images, fs::file_size(images) - 12);
  EXPECT_NE(complaint().find("train-images-idx3-ubyte.gz: "), std::string::npos) << complaint();
  EXPECT_NE(complaint().find(kRemedy), std::string::npos) << complaint();
}

TEST_F(DatasetFiles, MayBeDamagedInTheCompressedStream) {
  write_gzipped();
  const fs::path labels = folder_ / "train-labels-idx1-ubyte.gz";
  std::fstream file(labels, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-8, std::ios::end);  // The check sum.
  file << "\xde\xad";
  file.close();
  EXPECT_EQ(
      complaint(),
      std::string("train-labels-idx1-ubyte.gz: cannot be read: incorrect data check") + kRemedy);
}

TEST_F(DatasetFiles, MayBeOfAnotherKind) {
  contents_["train-labels-idx1-ubyte"] = contents_["train-images-idx3-ubyte"];
  EXPECT_EQ(complaint_about_plain(),
            std::string("train-labels-idx1-ubyte: begins with 0x00000803 where an IDX file of this "
                        "kind has 0x00000801") +
                kRemedy);
}

TEST_F(DatasetFiles, MayHaveImagesOfAnotherSize) {
  contents_["train-images-idx3-ubyte"] = header(0x803, {2, 28, 32}) + std::string(1792, '\0');
  EXPECT_EQ(complaint_about_plain(),
            std::string("train-images-idx3-ubyte: its header says an extent of 32 where 28 was "
                        "expected") +
                kRemedy);
}

TEST_F(DatasetFiles, MayClaimMoreThanCanBe) {
  contents_["train-images-idx3-ubyte"] = header(0x803, {0xffffffff, 28, 28});
  EXPECT_EQ(complaint_about_plain(),
            std::string("train-images-idx3-ubyte: its header says 4294967295 examples, and 1 to "
                        "4000000 were expected") +
                kRemedy);
  contents_["train-images-idx3-ubyte"] = header(0x803, {4'000'000, 28, 28});
  EXPECT_EQ(complaint_about_plain(),
            std::string("train-images-idx3-ubyte: ends after 0 bytes of 3136000000") + kRemedy);
}

TEST_F(DatasetFiles, MayGoOnAfterTheirEnd) {
  contents_["train-labels-idx1-ubyte"] += '\0';
  EXPECT_EQ(
      complaint_about_plain(),
      std::string("train-labels-idx1-ubyte: goes on after the 2 bytes it should have") + kRemedy);
}

TEST_F(DatasetFiles, MayNotBelongTogether) {
  contents_["train-labels-idx1-ubyte"] = header(0x801, {3}) + "\x01\x02\x03";
  EXPECT_EQ(complaint_about_plain(),
            "train-labels-idx1-ubyte: 3 labels, but train-images-idx3-ubyte has 2 images; both "
            "must be of one data set");
}

TEST_F(DatasetFiles, MayHoldALabelThatIsNone) {
  contents_["train-labels-idx1-ubyte"] = header(0x801, {2}) + "\x09\x0a";
  EXPECT_EQ(complaint_about_plain(),
            "train-labels-idx1-ubyte: label 10 of example 1; labels from 0 to 9 were expected");
}

TEST(FashionMnist, IsWhereDebianPutsIt) {
  const std::string folder = "/usr/share/datasets/fashion-mnist";
  EXPECT_EQ(load_fashion_mnist(folder, Part::kTrain)->examples(), 60'000U);
  EXPECT_EQ(load_fashion_mnist(folder, Part::kTest)->examples(), 10'000U);
  EXPECT_EQ(check_fashion_mnist(folder), load_fashion_mnist(folder, Part::kTest)->shape());
}

// Three images of 1x2 to train on, two to test.
class IdxFolder : public DatasetFiles {
 protected:
  void SetUp() override {
    contents_ = {
        {"train-images-idx3-ubyte", header(0x803, {3, 1, 2}) + bytes({0, 51, 0, 51, 0, 51})},
        {"train-labels-idx1-ubyte", header(0x801, {3}) + bytes({1, 0, 1})},
        {"t10k-images-idx3-ubyte", header(0x803, {2, 1, 2}) + bytes({51, 0, 102, 0})},
        {"t10k-labels-idx1-ubyte", header(0x801, {2}) + bytes({0, 4})}};
  }
  static std::string bytes(const std::vector<int>& values) {
    std::string text;
    for (const int value : values) {
      text.push_back(static_cast<char>(value));
    }
    return text;
  }
  [[nodiscard]] std::string idx_complaint() const {
    write_plain();
    return complaint_of([this] { (void)check_idx(folder_.path()); });
  }
};

TEST_F(IdxFolder, HasTheShapeThatItsFilesHave) {
  write_gzipped();
  const DataShape shape{.kind = DataKind::kImages, .height = 1, .width = 2, .classes = 5};
  EXPECT_EQ(check_idx(folder_.path()), shape);
  EXPECT_EQ(load_idx(folder_.path(), Part::kTrain)->shape(), shape);
  EXPECT_EQ(load_idx(folder_.path(), Part::kTest)->shape(), shape);
}

TEST_F(IdxFolder, IsStandardisedByItsTrainingPart) {
  write_plain();
  std::vector<float> pixels(4);
  std::vector<std::int64_t> labels(2);
  load_idx(folder_.path(), Part::kTrain)->gather(std::vector<std::uint64_t>{1, 2}, pixels, labels);
  // Mean 0.1 and deviation 0.1 of 0, 0.2, 0, 0.2, 0, 0.2.
  const auto expect_near = [&pixels](const std::vector<float>& right) {
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_FLOAT_EQ(pixels[i], right[i]);
    }
  };
  expect_near({-1, 1, -1, 1});
  EXPECT_EQ(labels, (std::vector<std::int64_t>{0, 1}));
  load_idx(folder_.path(), Part::kTest)->gather(std::vector<std::uint64_t>{0, 1}, pixels, labels);
  expect_near({1, -1, 3, -1});
  EXPECT_EQ(labels, (std::vector<std::int64_t>{0, 4}));
}

TEST_F(IdxFolder, MayBeOfOneColour) {
  contents_["train-images-idx3-ubyte"] = header(0x803, {3, 1, 2}) + bytes({51, 51, 51, 51, 51, 51});
  write_plain();
  std::vector<float> pixels(2);
  std::vector<std::int64_t> labels(1);
  load_idx(folder_.path(), Part::kTrain)->gather(std::vector<std::uint64_t>{0}, pixels, labels);
  EXPECT_EQ(pixels, (std::vector<float>{0, 0}));
}

TEST_F(IdxFolder, NamesWhatIsWrongAndWhatWouldBeRight) {
  const std::string remedy =
      "; the folder must hold train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of "
      "t10k, gzipped or not";
  const auto whole = contents_;
  contents_["t10k-images-idx3-ubyte"] = header(0x803, {2, 2, 1}) + bytes({1, 2, 3, 4});
  EXPECT_EQ(idx_complaint(),
            "t10k-images-idx3-ubyte: images of 2x1, but train-images-idx3-ubyte has 1x2; both must "
            "be of one size");
  contents_ = whole;
  contents_["t10k-images-idx3-ubyte"] = header(0x803, {1, 1, 2}) + bytes({1, 2});
  EXPECT_EQ(idx_complaint(),
            "t10k-labels-idx1-ubyte: 2 labels, but t10k-images-idx3-ubyte has 1 images; both must "
            "be of one data set");
  contents_ = whole;
  contents_["train-images-idx3-ubyte"] = header(0x803, {3, 0, 2});
  EXPECT_EQ(idx_complaint(),
            "train-images-idx3-ubyte: its header says an extent of 0 where 1 to 4096 was expected" +
                remedy);
  contents_["train-images-idx3-ubyte"] = header(0x803, {3, 4097, 2});
  EXPECT_EQ(idx_complaint(),
            "train-images-idx3-ubyte: its header says an extent of 4097 where 1 to 4096 was "
            "expected" +
                remedy);
  // Sixty terabytes on a header's word: nothing is taken for them.
  contents_["train-images-idx3-ubyte"] = header(0x803, {4'000'000, 4096, 4096});
  EXPECT_EQ(idx_complaint(),
            "train-images-idx3-ubyte: ends after 0 bytes of 67108864000000" + remedy);
  contents_ = whole;
  contents_["train-labels-idx1-ubyte"] = header(0x801, {3}) + bytes({0, 0, 0});
  contents_["t10k-labels-idx1-ubyte"] = header(0x801, {2}) + bytes({0, 0});
  EXPECT_EQ(idx_complaint(),
            "train-labels-idx1-ubyte: all labels are 0, here and in t10k-labels-idx1-ubyte; at "
            "least two classes are needed");
}

TEST_F(IdxFolder, MayHoldColourImages) {
  contents_.erase("train-images-idx3-ubyte");
  contents_.erase("t10k-images-idx3-ubyte");
  // Images of 1x2; a pixel is red, green and blue. Red has mean 0.1 and deviation 0.1, green is
  // constant, and blue has mean 0.2 and deviation 0.2.
  contents_["train-images-idx4-ubyte"] =
      header(0x804, {3, 1, 2, 3}) +
      bytes({0, 9, 0, 51, 9, 102, 51, 9, 102, 0, 9, 0, 0, 9, 0, 51, 9, 102});
  contents_["t10k-images-idx4-ubyte"] =
      header(0x804, {2, 1, 2, 3}) + bytes({0, 9, 102, 51, 9, 0, 0, 9, 0, 0, 9, 0});
  write_plain();
  const DataShape shape{
      .kind = DataKind::kImages, .height = 1, .width = 2, .classes = 5, .channels = 3};
  EXPECT_EQ(check_idx(folder_.path()), shape);
  EXPECT_EQ(to_words(shape), "colour images of 1x2 in 5 classes");
  std::vector<float> pixels(6);
  std::vector<std::int64_t> labels(1);
  const auto read = [&](Part part, std::uint64_t index) {
    load_idx(folder_.path(), part)->gather(std::vector<std::uint64_t>{index}, pixels, labels);
    return pixels;
  };
  const auto expect_planes = [](const std::vector<float>& found, const std::vector<float>& right) {
    for (std::size_t i = 0; i < right.size(); ++i) {
      EXPECT_NEAR(found[i], right[i], 1e-6) << i;
    }
  };
  expect_planes(read(Part::kTrain, 1), {1, -1, 0, 0, 1, -1});
  expect_planes(read(Part::kTest, 0), {-1, 1, 0, 0, 1, -1});
}

TEST_F(IdxFolder, HoldsImagesOfOneKindOfThreeChannels) {
  const std::string remedy =
      "; a folder of colour images must hold train-images-idx4-ubyte, train-labels-idx1-ubyte and "
      "the same of t10k, gzipped or not";
  const auto whole = contents_;
  contents_["train-images-idx4-ubyte"] = header(0x804, {3, 1, 2, 4});
  EXPECT_EQ(idx_complaint(),
            " holds train-images-idx3-ubyte and train-images-idx4-ubyte; keep the images of one "
            "kind");
  std::filesystem::remove(folder_ / "train-images-idx3-ubyte");
  contents_.erase("train-images-idx3-ubyte");
  EXPECT_EQ(
      idx_complaint(),
      "train-images-idx4-ubyte: its header says an extent of 4 where 3 was expected" + remedy);
  contents_["train-images-idx4-ubyte"] = header(0x804, {3, 1, 2, 3}) + std::string(18, '\0');
  EXPECT_EQ(idx_complaint(), "t10k-images-idx4-ubyte.gz: no such file" + remedy);
}

TEST_F(IdxFolder, LacksAFile) {
  contents_.erase("t10k-images-idx3-ubyte");
  EXPECT_TRUE(idx_complaint().starts_with("t10k-images-idx3-ubyte.gz: no such file; the folder "))
      << idx_complaint();
}

}  // namespace
}  // namespace outpace::learn
