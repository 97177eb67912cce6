#include "record/zstd_file.h"

#include <sstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/refusal_test.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

std::string text_of(std::ifstream stream) {
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class ZstdFile : public testing::Test {
 protected:
  ZstdFile() {
    for (int i = 0; i < 20'000; ++i) {
      text_ += "{\"now\":" + std::to_string(i) + "}\n";
    }
    std::ofstream(file_, std::ios::binary) << text_;
  }

  TemporaryDirectory folder_;
  std::filesystem::path file_ = folder_ / "log.jsonl";
  std::string text_;
};

TEST_F(ZstdFile, HasTheSameContentInFewerBytes) {
  EXPECT_EQ(content_bytes(file_), text_.size());
  EXPECT_EQ(text_of(open_content(file_)), text_);
  const std::uint64_t bytes = compress_file(file_);
  EXPECT_LT(bytes, text_.size() / 4);
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_EQ(std::filesystem::file_size(folder_ / "log.jsonl.zst"), bytes);
  EXPECT_EQ(content_bytes(file_), text_.size());
  EXPECT_EQ(text_of(open_content(file_)), text_);
}

TEST_F(ZstdFile, ThatIsNotThereHasNoContent) {
  EXPECT_EQ(content_bytes(folder_ / "none"), std::nullopt);
  EXPECT_FALSE(open_content(folder_ / "none"));
}

TEST_F(ZstdFile, ThatIsDamagedIsNamed) {
  (void)compress_file(file_);
  const std::filesystem::path packed = compressed_name(file_);
  const std::string whole = contents(packed);
  const auto refusal = [&](const std::string& bytes) {
    std::ofstream(packed, std::ios::binary | std::ios::trunc) << bytes;
    return refusal_of([&] { (void)open_content(file_); });
  };
  EXPECT_NE(refusal(whole.substr(0, whole.size() / 2)).find("its end is missing"),
            std::string::npos);
  EXPECT_NE(refusal("{\"now\":1}\n").find("does not say how large"), std::string::npos);
  EXPECT_NE(refusal("").find("log.jsonl.zst: not a file that zstd has compressed"),
            std::string::npos);
  std::string other = whole;
  other[whole.size() / 2] = static_cast<char>(other[whole.size() / 2] ^ 0x55);
  EXPECT_NE(refusal(other), "");
  EXPECT_NE(refusal(whole + whole).find("more than it says"), std::string::npos);
}

TEST_F(ZstdFile, IsNoLargerThanMemoryMayHold) {
  std::filesystem::resize_file(file_, kCompressedMost + 1);
  EXPECT_THROW((void)compress_file(file_), Error);
  EXPECT_TRUE(std::filesystem::exists(file_));
  // A frame of eight bytes of size, which says 2^40.
  std::ofstream(compressed_name(file_), std::ios::binary | std::ios::trunc)
      << std::string("\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\x01\0\0", 13);
  std::filesystem::remove(file_);
  EXPECT_NE(
      refusal_of([&] { (void)open_content(file_); }).find("it says that it has 1099511627776"),
      std::string::npos);
}

TEST_F(ZstdFile, StaysAsItWasWhereThereIsNoRoom) {
  std::filesystem::create_directory(compressed_name(file_));
  EXPECT_THROW((void)compress_file(file_), Error);
  EXPECT_EQ(contents(file_), text_);
}

}  // namespace
}  // namespace outpace::record
