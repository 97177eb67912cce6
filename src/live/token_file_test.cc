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

}  // namespace
}  // namespace outpace::live
