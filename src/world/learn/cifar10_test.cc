#include "learn/cifar10.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::learn {
namespace {

constexpr std::size_t kImageBytes = 3072;
constexpr const char* kCifar10Remedy =
    "; the folder must hold data_batch_1.bin to data_batch_5.bin and test_batch.bin, CIFAR-10's "
    "binary version";

// A record: the label, then a plane each of red, green and blue, of one value each.
std::string record(int label, int red, int green, int blue) {
  std::string bytes(1, static_cast<char>(label));
  for (const int value : {red, green, blue}) {
    bytes += std::string(kImageBytes / 3, static_cast<char>(value));
  }
  return bytes;
}

// All six files; black images of class 0, but for those that a test writes.
class Cifar10Files : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"data_batch_1.bin",
                             "data_batch_2.bin",
                             "data_batch_3.bin",
                             "data_batch_4.bin",
                             "data_batch_5.bin",
                             "test_batch.bin"}) {
      put(folder_ / name, "");
      std::filesystem::resize_file(folder_ / name, 10'000 * (kImageBytes + 1));
    }
  }

  void write(const char* name, std::size_t index, const std::string& bytes) const {
    std::fstream file(folder_ / name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(index * (kImageBytes + 1)));
    file << bytes;
  }
  [[nodiscard]] Cifar10Options options() const { return {.folder = folder_.path().string()}; }
  // What is said of the folder's files, without its path.
  [[nodiscard]] std::string complaint(bool check) const {
    std::string text = error_of([&] {
      if (check) {
        (void)check_cifar10(options());
      } else {
        (void)load_cifar10(options(), Part::kTrain);
      }
    });
    const std::string folder = folder_.path().string() + "/";
    const auto at = text.find(folder);
    return at == std::string::npos ? text : text.erase(at, folder.size());
  }

  const TemporaryDirectory folder_;
};

TEST_F(Cifar10Files, AreReadInOrderAndStandardisedByChannel) {
  write("data_batch_1.bin", 0, record(0, 1, 0, 0));
  write("data_batch_3.bin", 3, record(3, 3, 4, 255));
  write("test_batch.bin", 9'999, record(9, 9, 0, 0));
  EXPECT_EQ(check_cifar10(options()), kCifar10Shape);
  const auto train = load_cifar10(options(), Part::kTrain);
  EXPECT_EQ(train->shape(), kCifar10Shape);
  ASSERT_EQ(train->examples(), 50'000U);
  std::vector<float> pixels(2 * kImageBytes);
  std::vector<std::int64_t> labels(2);
  train->gather(std::vector<std::uint64_t>{20'003, 0}, pixels, labels);
  EXPECT_EQ(labels, (std::vector<std::int64_t>{3, 0}));
  EXPECT_EQ(pixels[0], (3.0F / 255.0F - 0.4914F) / 0.2470F);
  EXPECT_EQ(pixels[1024], (4.0F / 255.0F - 0.4822F) / 0.2435F);
  EXPECT_EQ(pixels[3071], (1.0F - 0.4465F) / 0.2616F);
  EXPECT_EQ(pixels[kImageBytes], (1.0F / 255.0F - 0.4914F) / 0.2470F);
  const auto test = load_cifar10(options(), Part::kTest);
  EXPECT_EQ(test->examples(), 10'000U);
  test->gather(std::vector<std::uint64_t>{9'999}, pixels, labels);
  EXPECT_EQ(labels[0], 9);
  EXPECT_EQ(pixels[0], (9.0F / 255.0F - 0.4914F) / 0.2470F);
}

TEST_F(Cifar10Files, MayBeUsedInPart) {
  write("data_batch_2.bin", 1, record(1, 2, 0, 0));
  Cifar10Options first = options();
  first.train = 10'002;
  first.test = 7;
  const auto train = load_cifar10(first, Part::kTrain);
  ASSERT_EQ(train->examples(), 10'002U);
  std::vector<float> pixels(kImageBytes);
  std::vector<std::int64_t> labels(1);
  train->gather(std::vector<std::uint64_t>{10'001}, pixels, labels);
  EXPECT_EQ(labels[0], 1);
  EXPECT_EQ(pixels[0], (2.0F / 255.0F - 0.4914F) / 0.2470F);
  EXPECT_EQ(load_cifar10(first, Part::kTest)->examples(), 7U);
}

TEST_F(Cifar10Files, MayLackOne) {
  std::filesystem::remove(folder_ / "data_batch_5.bin");
  for (const bool check : {true, false}) {
    EXPECT_EQ(complaint(check), std::string("2: data_batch_5.bin: no such file") + kCifar10Remedy);
  }
}

TEST_F(Cifar10Files, MayHaveAnotherSize) {
  std::filesystem::resize_file(folder_ / "data_batch_2.bin", 30'729'999);
  for (const bool check : {true, false}) {
    EXPECT_EQ(
        complaint(check),
        std::string("2: data_batch_2.bin: is 30729999 bytes long, and 30730000 were expected, "
                    "10,000 records of 3,073") +
            kCifar10Remedy);
  }
}

TEST_F(Cifar10Files, MayHoldALabelThatIsNone) {
  write("data_batch_4.bin", 7, record(10, 0, 0, 0));
  EXPECT_EQ(complaint(false),
            std::string("2: data_batch_4.bin: label 10 of record 7; labels from 0 to 9 were "
                        "expected") +
                kCifar10Remedy);
}

}  // namespace
}  // namespace outpace::learn
