#include "learn/data_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/temporary_directory_test.h"

namespace outpace::learn {
namespace {

std::string data_file_complaint(const std::string& path) {
  return error_of([&path] { (void)read_data_file(path); });
}

TEST(DataFile, IsReadWhole) {
  const TemporaryDirectory folder;
  const std::string bytes("\0\r\n\xff", 4);
  put(folder / "bytes", bytes);
  EXPECT_EQ(read_data_file(folder / "bytes"), bytes);
}

TEST(DataFile, ThatIsNoneIsNamed) {
  const TemporaryDirectory folder;
  const std::string missing = folder / "missing";
  EXPECT_EQ(data_file_complaint(missing),
            "2: " + missing + ": no such file; name the one that holds the data");
  EXPECT_EQ(
      data_file_complaint(folder.path()),
      "2: " + folder.path().string() + ": is no regular file; name the one that holds the data");
  EXPECT_EQ(data_file_complaint("/dev/zero"),
            "2: /dev/zero: is no regular file; name the one that holds the data");
}

TEST(DataFile, IsNeitherEmptyNorTooLarge) {
  const TemporaryDirectory folder;
  const std::string empty = folder / "empty";
  put(empty, "");
  EXPECT_EQ(data_file_complaint(empty),
            "2: " + empty + ": is empty; a file of 1 to 2147483648 bytes was expected");
  const std::string sparse = folder / "sparse";
  put(sparse, "x");
  std::filesystem::resize_file(sparse, kDataFileBytesMax + 1);  // Takes no room.
  EXPECT_EQ(data_file_complaint(sparse),
            "2: " + sparse + ": is too large; a file of 1 to 2147483648 bytes was expected");
}

}  // namespace
}  // namespace outpace::learn
