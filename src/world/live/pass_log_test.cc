#include "live/pass_log.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/temporary_directory_test.h"

namespace outpace::live {
namespace {

protocol::Manifest two_layers() {
  return {.tensors = {{.name = "first", .shape = {2, 3}}, {.name = "last", .shape = {4}}}};
}

TEST(PassLog, WritesWhenEachPassAndEachLayerBegan) {
  const TemporaryDirectory folder;
  const std::string path = (folder / "passes.json").string();
  PassLog log(path);
  log.joined(two_layers(), 100);
  for (int pass = 0; pass < 2; ++pass) {
    log.taken();
    for (const std::size_t numbers : {6U, 10U, 0U, 0U}) {
      log.layer(numbers);
    }
    log.computed();
  }
  log.taken();  // Abandoned: it has no gradient.
  log.close();
  const NotedPasses noted = parse_noted(contents(path));
  EXPECT_EQ(noted.manifest, two_layers());
  EXPECT_EQ(noted.examples, 100U);
  EXPECT_EQ(noted.needs, (std::vector<std::size_t>{6, 10}));
  ASSERT_EQ(noted.passes.size(), 2U);
  double last = noted.passes.front().begin;
  for (const NotedPass& pass : noted.passes) {
    EXPECT_GE(pass.begin, last);
    last = pass.begin;
    ASSERT_EQ(pass.between.size(), 4U);
    for (const double mark : pass.between) {
      EXPECT_GE(mark, last);
      last = mark;
    }
    EXPECT_GE(pass.end, last);
    last = pass.end;
  }
  EXPECT_EQ(parse_noted(to_json(noted)), noted);
}

TEST(PassLog, NotesWhatBeganEarlierButNothingBeforeWhatItNotedNorLater) {
  const TemporaryDirectory folder;
  const std::string path = (folder / "passes.json").string();
  PassLog log(path);
  log.joined(two_layers(), 100);
  log.taken();
  constexpr double kDay = 86'400.0;
  log.layer(6, kDay);
  log.layer(10);
  log.layer(0, kDay);
  log.layer(0, -kDay);
  log.computed();
  log.close();
  const NotedPass pass = parse_noted(contents(path)).passes.at(0);
  ASSERT_EQ(pass.between.size(), 4U);
  EXPECT_EQ(pass.between[0], pass.begin);
  EXPECT_GE(pass.between[1], pass.begin);
  EXPECT_EQ(pass.between[2], pass.between[1]);
  EXPECT_LE(pass.between[3], pass.end);
}

TEST(PassLog, SaysThatItsFileCannotBeWritten) {
  const TemporaryDirectory folder;
  PassLog log((folder / "no" / "passes.json").string());
  EXPECT_THROW(log.close(), Error);
}

TEST(PassLog, RefusesOtherText) {
  EXPECT_THROW((void)parse_noted("{}"), Error);
  EXPECT_THROW((void)parse_noted("half a fi"), Error);
}

}  // namespace
}  // namespace outpace::live
