#include "learn/dataset.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
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

  [[nodiscard]] Spec spec() const {
    return Spec::parse("fashion-mnist:dir=" + folder_.path().string());
  }

  // What loading says, with the folder left out.
  [[nodiscard]] std::string complaint() const {
    try {
      (void)Dataset::load(spec(), Part::kTrain);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage);
      std::string text = error.what();
      const std::string folder = folder_.path().string();
      for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
        text.replace(at, folder.size() + 1, "");
      }
      return text;
    }
    return "none";
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
  std::vector<float> pixels(3 * Dataset::kPixels);
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
  expect_the_two_images(Dataset::load(spec(), Part::kTrain));
}

TEST_F(DatasetFiles, AreReadGzippedAndNormalised) {
  write_gzipped();
  expect_the_two_images(Dataset::load(spec(), Part::kTrain));
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

std::string spec_complaint(const std::string& text) {
  try {
    (void)Dataset::load(Spec::parse(text), Part::kTest);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(Dataset, SuggestsTheNearestNameAndOption) {
  EXPECT_EQ(spec_complaint("fashion-minst"),
            "unknown data set 'fashion-minst'; did you mean 'fashion-mnist'?");
  EXPECT_EQ(spec_complaint("imagenet"), "unknown data set 'imagenet'; known: fashion-mnist");
  EXPECT_EQ(spec_complaint("fashion-mnist:dri=/tmp"),
            "data set 'fashion-mnist:dri=/tmp': unknown option 'dri'; did you mean 'dir'?");
}

TEST(Dataset, IsDebiansFashionMnistByDefault) {
  EXPECT_EQ(Dataset::load(Spec::parse("fashion-mnist"), Part::kTrain).examples(), 60'000U);
  EXPECT_EQ(Dataset::load(Spec::parse("fashion-mnist"), Part::kTest).examples(), 10'000U);
}

}  // namespace
}  // namespace outpace::learn
