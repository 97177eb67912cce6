#include "record/control_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

TEST(ControlFile, GivesBackWhatWasWritten) {
  const TemporaryDirectory folder;
  const ControlFile control{.server = "127.0.0.1:4000", .token_file = "/a/token"};
  write_control_file(folder / "control.json", control);
  EXPECT_EQ(read_control_file(folder / "control.json"), control);
}

TEST(ControlFile, HasPathsThatHoldFromAnywhere) {
  const TemporaryDirectory folder;
  write_control_file(folder / "control.json", {.server = "unix:s", .token_file = "token"});
  const ControlFile read = read_control_file(folder / "control.json");
  EXPECT_EQ(read.server, "unix:" + (std::filesystem::current_path() / "s").string());
  EXPECT_EQ(read.token_file, (std::filesystem::current_path() / "token").string());
}

TEST(ControlFile, RefusesAnotherFile) {
  const TemporaryDirectory folder;
  const std::string path = folder / "control.json";
  for (const char* text :
       {"", "{", "[]", "{\"server\":\"a\"}", "{\"server\":1,\"token_file\":2}"}) {
    std::ofstream(path) << text;
    EXPECT_EQ(refusal_of([&] { (void)read_control_file(path); }),
              path + ": not a control file; name --server and --token-file");
  }
}

}  // namespace
}  // namespace outpace::record
