#include "live/token_file.h"

#include <filesystem>
#include <future>
#include <string>

#include <gtest/gtest.h>

namespace outpace::live {
namespace {

TEST(TokenFile, OfServersThatStartAtOnceOneMakesItForAll) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "token_of_two_servers";
  for (int time = 0; time < 200; ++time) {
    std::filesystem::remove(path);
    auto other = std::async(std::launch::async, token_of_server, path.string());
    const std::string token = token_of_server(path);
    EXPECT_EQ(token.size(), 64);
    ASSERT_EQ(other.get(), token);
  }
  std::filesystem::remove(path);
}

TEST(TokenFile, MustBelongToItsReaderOrToRoot) {
  const auto why = [](uid_t owner, mode_t mode, uid_t reader) {
    struct stat status {};
    status.st_uid = owner;
    status.st_mode = S_IFREG | mode;
    return why_not_secret("token", status, reader);
  };
  EXPECT_EQ(why(1000, 0600, 1000), "");
  EXPECT_EQ(why(1000, 0400, 1000), "");
  EXPECT_EQ(why(1001, 0600, 1000),
            "token: the token file belongs to user 1001, this process to user 1000; "
            "name a file of your own");
  EXPECT_EQ(why(0, 0600, 1000), "");
  EXPECT_EQ(why(1000, 0600, 0), "");
  for (const mode_t mode : {0640U, 0604U, 0620U}) {
    EXPECT_EQ(why(1000, mode, 1000),
              "token: the token can be read by others; run: chmod 600 token");
  }
}

}  // namespace
}  // namespace outpace::live
