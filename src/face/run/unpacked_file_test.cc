#include "run/unpacked_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/refusal_test.h"
#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

std::string whole(const std::string& path) {
  UnpackedFile file(path);
  std::string text;
  for (std::string_view block = file.next(); !block.empty(); block = file.next()) {
    text += block;
  }
  return text;
}

// A text of some blocks, and hard to pack.
std::string long_text() {
  std::string text;
  std::uint32_t state = 1;
  for (int i = 0; i < 700'000; ++i) {
    state = state * 1664525U + 1013904223U;
    text += static_cast<char>('a' + (state >> 24U) % 26);
  }
  return text;
}

std::string pack(const std::string& path, const std::string& text) {
  const gzFile file = gzopen(path.c_str(), "wb");
  EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  return path;
}

TEST(UnpackedFile, GivesAFileBlockByBlockPackedOrNot) {
  const TemporaryDirectory directory;
  const std::string text = long_text();
  put(directory / "plain.json", text);
  EXPECT_EQ(whole((directory / "plain.json").string()), text);
  EXPECT_EQ(whole(pack((directory / "t.json.gz").string(), text)), text);
  put(directory / "empty.json", "");
  EXPECT_EQ(whole((directory / "empty.json").string()), "");
}

TEST(UnpackedFile, RefusesWhatIsNoRegularFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.path().string();
  EXPECT_EQ(refusal_of([&] { (void)whole(path); }), path + ": is no regular file");
  EXPECT_NE(refusal_of([&] {
              (void)whole(path + "/absent");
            }).find("/absent: cannot be opened: No such file"),
            std::string::npos);
}

TEST(UnpackedFile, RefusesAPackedFileThatIsCutShortOrDamaged) {
  const TemporaryDirectory directory;
  const std::string path = pack((directory / "t.json.gz").string(), long_text());
  const std::string packed = contents(path);
  put(path, packed.substr(0, packed.size() / 2));
  EXPECT_NE(refusal_of([&] { (void)whole(path); }).find("is cut short"), std::string::npos);
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
  put(path, damaged);
  EXPECT_NE(refusal_of([&] { (void)whole(path); }).find("cannot be read: damaged"),
            std::string::npos);
}

}  // namespace
}  // namespace outpace::run
