// Logs that do not keep everything, or not in one file.

#include "record/log_parts.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/temporary_directory_test.h"
#include "record/decision_log.h"
#include "record/zstd_file.h"

namespace outpace::record {
namespace {

class PartsTest : public testing::Test {
 protected:
  void append(DecisionLogWriter& log, std::uint64_t decisions) {
    for (std::uint64_t i = 0; i < decisions; ++i) {
      log.append(Time{std::chrono::milliseconds(++written_)}, policy::TimerFired{}, {});
    }
  }
  // Times, in milliseconds, of the decisions up to the end or the first gap.
  std::vector<std::int64_t> read() {
    DecisionLogReader reader(path_);
    std::vector<std::int64_t> times;
    for (LoggedDecision logged; reader.next(logged);) {
      times.push_back(logged.now.time_since_epoch().count() / 1'000'000);
    }
    LoggedDecision none;
    EXPECT_FALSE(reader.next(none));
    gap_ = reader.gap();
    return times;
  }
  [[nodiscard]] std::vector<std::int64_t> one_to(std::int64_t last) const {
    std::vector<std::int64_t> times(static_cast<std::size_t>(last));
    std::iota(times.begin(), times.end(), 1);
    return times;
  }
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory_.path())) {
      sum += file.file_size();
    }
    return sum;
  }

  const TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_ / "decisions.jsonl";
  std::string gap_;
  std::int64_t written_ = 0;
};

constexpr std::uint64_t kSmall = 8ULL * 200'000;  // Each part has some buffers' worth of lines.

TEST_F(PartsTest, ALogOfSeveralPartsReadsAsOne) {
  DecisionLogWriter log(path_, {.policy = "sync", .workers = 2}, {.bytes_max = kSmall});
  append(log, 10'000);
  log.close();
  // The first and the newest are as they were written.
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "decisions-2.jsonl.zst"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "decisions-2.jsonl"));
  EXPECT_EQ(read(), one_to(10'000));
  EXPECT_EQ(gap_, "");
}

TEST_F(PartsTest, APlaceInACompressedPartIsThatOfItsText) {
  DecisionLogWriter log(path_, {.policy = "sync", .workers = 2}, {.bytes_max = kSmall});
  append(log, 10'000);
  log.close();
  const std::uint64_t all = DecisionLogReader(path_).bytes();
  EXPECT_GT(all, 2 * bytes());
  const auto time_after = [&](const std::function<void(DecisionLogReader&)>& go) {
    DecisionLogReader reader(path_);
    LoggedDecision logged;
    go(reader);
    EXPECT_TRUE(reader.next(logged));
    return static_cast<double>(logged.now.time_since_epoch().count()) / 1e6;
  };
  for (const std::uint64_t share : {2U, 3U, 4U}) {
    EXPECT_NEAR(time_after([&](auto& reader) { EXPECT_TRUE(reader.go_to(all / share)); }),
                10'000.0 / static_cast<double>(share),
                200.0);
  }
  EXPECT_NEAR(time_after([&](auto& reader) { reader.go_near_end(all / 2); }), 5'000.0, 200.0);
}

TEST_F(PartsTest, OlderLogsHaveNoCompressedPart) {
  DecisionLogWriter log(path_, {.policy = "sync", .workers = 2}, {.bytes_max = kSmall});
  append(log, 10'000);
  log.close();
  for (std::uint32_t part = 2; std::filesystem::exists(compressed_name(part_of_log(path_, part)));
       ++part) {
    std::ifstream text = open_content(part_of_log(path_, part));
    std::ofstream(part_of_log(path_, part)) << text.rdbuf();
    std::filesystem::remove(compressed_name(part_of_log(path_, part)));
  }
  EXPECT_EQ(read(), one_to(10'000));
}

TEST_F(PartsTest, TheFirstAndTheNewestPartsStayBelowTheSize) {
  constexpr std::uint64_t kVerySmall = 64'000;
  DecisionLogWriter log(path_, {.policy = "sync", .workers = 2}, {.bytes_max = kVerySmall});
  for (int i = 0; i < 300; ++i) {
    append(log, 100);
    log.flush();
  }
  log.close();
  EXPECT_LT(bytes(), kVerySmall + kVerySmall / 2);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "decisions-2.jsonl.zst"));
  const std::vector<std::int64_t> times = read();
  ASSERT_FALSE(times.empty());
  EXPECT_EQ(times, one_to(times.back()));
  EXPECT_LT(times.back(), 30'000);
  EXPECT_NE(gap_.find("decisions.jsonl: a gap: decisions from "), std::string::npos) << gap_;
  EXPECT_NE(gap_.find("in parts that were removed"), std::string::npos) << gap_;
  // The newest decision is in the newest part.
  std::string all;
  for (std::uint32_t part = 2; part < 1000; ++part) {
    if (std::filesystem::exists(part_of_log(path_, part))) {
      all = contents(part_of_log(path_, part));
    }
  }
  EXPECT_NE(all.find("{\"now\":30000000000,"), std::string::npos);
}

TEST(LogParts, EndsAPartBeforeItIsTooLargeToCompress) {
  EXPECT_EQ(bytes_of_part(800), 100U);
  EXPECT_EQ(bytes_of_part(std::uint64_t{1} << 30U), std::uint64_t{16} << 20U);
  EXPECT_LT(bytes_of_part(std::uint64_t{1} << 50U), kCompressedMost);
}

TEST_F(PartsTest, APartOfAnotherRunIsRefused) {
  DecisionLogWriter(path_, {.policy = "sync", .workers = 2}).close();
  put(directory_ / "decisions-2.jsonl",
      "{\"outpace_decisions\":1,\"policy\":\"async\",\"workers\":2,\"part\":2}\n");
  EXPECT_NE(error_of([&] { (void)read(); }).find("decisions-2.jsonl:1: a part of another run's"),
            std::string::npos);
}

TEST_F(PartsTest, ASampleIsSmallAndSaysThatItCannotBeFollowed) {
  DecisionLogWriter log(path_, {.policy = "sync", .workers = 2}, {.every = 10});
  append(log, 100);
  log.close();
  const std::string text = contents(path_);
  EXPECT_EQ(std::ranges::count(text, '\n'), 11);
  EXPECT_NE(error_of([&] { (void)read(); }).find(":1: the log keeps one in 10 decisions"),
            std::string::npos);
}

TEST_F(PartsTest, AGapIsNamedByTheTimesAroundIt) {
  DecisionLogWriter log(path_, {.policy = "sync", .workers = 2});
  append(log, 2);
  log.close();
  const std::string before = contents(path_);
  put(path_, before + kDecisionGap + "\n");
  EXPECT_EQ(read(), one_to(2));
  EXPECT_EQ(gap_,
            path_.string() +
                ":4: a gap: decisions from 0.002 s on could not be recorded; none after them is "
                "read");
  put(path_,
      before + kDecisionGap +
          "\n{\"now\":7000000,\"event\":{\"type\":\"timer_fired\"},\"actions\":[],"
          "\"reason\":\"\"}\n");
  EXPECT_EQ(read(), one_to(2));
  EXPECT_NE(gap_.find("from 0.002 s to 0.007 s could not"), std::string::npos) << gap_;
}

TEST_F(PartsTest, AWriterThatMayHaveGapsNeverThrows) {
  std::vector<std::string> told;
  DecisionLogWriter log("/dev/full",
                        {.policy = "sync", .workers = 2},
                        {.told = [&told](const std::string& line) { told.push_back(line); }});
  append(log, 10'000);
  log.close();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told.back(), "/dev/full: 10001 lines are missing at its end");
}

TEST_F(PartsTest, APartThatCannotBeMadeLetsThePresentOneGrow) {
  std::filesystem::create_directory(directory_ / "decisions-2.jsonl");
  std::vector<std::string> told;
  DecisionLogWriter log(
      path_,
      {.policy = "sync", .workers = 2},
      {.bytes_max = kSmall, .told = [&told](const std::string& line) { told.push_back(line); }});
  append(log, 4'000);
  log.close();
  ASSERT_FALSE(told.empty());
  EXPECT_NE(told.front().find("decisions-2.jsonl: Is a directory; "), std::string::npos);
  EXPECT_EQ(std::ranges::count(contents(path_), '\n'), 4'001);
}

}  // namespace
}  // namespace outpace::record
