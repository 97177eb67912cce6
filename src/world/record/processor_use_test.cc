#include "record/processor_use.h"

#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

namespace outpace::record {
namespace {

using namespace std::chrono_literals;

server::Statistics two_workers(std::uint64_t first, std::uint64_t second) {
  server::Statistics statistics;
  statistics.workers.resize(2);
  statistics.workers[0].host = "here:10";
  statistics.workers[0].accepted = first;
  statistics.workers[1].host = "elsewhere:11";
  statistics.workers[1].accepted = second;
  return statistics;
}

TEST(ProcessorMeter, CountsFromTheFirstHalfSecondOnAndKnowsNothingOfOtherMachines) {
  std::map<std::string, double> clocks{{"", 5.0}, {"here:10", 2.0}};
  ProcessorMeter meter(2, [&clocks](const std::string& name) {
    const auto found = clocks.find(name);
    return found == clocks.end() ? std::nullopt : std::optional(found->second);
  });
  meter.look(Time{100ms}, two_workers(1, 1));  // Cold.
  clocks = {{"", 6.0}, {"here:10", 3.0}};
  meter.look(Time{500ms}, two_workers(10, 10));
  EXPECT_EQ(meter.use(), std::nullopt);
  clocks = {{"", 6.25}, {"here:10", 3.5}};
  meter.look(Time{600ms}, two_workers(20, 50));
  const ProcessorUse expected{.cores = 2,
                              .server_seconds_a_gradient = 0.25 / 50,
                              .worker_seconds_an_iteration = {0.5 / 10, std::nullopt}};
  EXPECT_EQ(meter.use(), expected);
}

TEST(ProcessorMeter, SaysThatWorkersOfThisMachineShareItsProcessors) {
  const auto words = [](std::uint32_t cores, const std::string& others) {
    ProcessorMeter meter(cores, [](const std::string& name) {
      return name.starts_with("elsewhere") ? std::nullopt : std::optional(1.0);
    });
    server::Statistics statistics;
    statistics.workers.resize(4);
    for (server::WorkerStatistics& worker : statistics.workers) {
      worker.host = others;
    }
    statistics.workers[0].host = "here:10";
    statistics.workers[1].host = "here:11";
    meter.look(Time{1s}, statistics);
    return meter.shared_in_words().value_or("");
  };
  EXPECT_EQ(words(2, "here:12"), "4 workers share 2 processors");
  EXPECT_EQ(words(1, "elsewhere:12"), "2 workers share 1 processor");
  EXPECT_EQ(words(2, "elsewhere:12"), "");
  EXPECT_EQ(words(4, "here:12"), "");
}

TEST(ProcessorUse, IsReadAsItWasWritten) {
  const ProcessorUse use{.cores = 2,
                         .server_seconds_a_gradient = 0.001,
                         .worker_seconds_an_iteration = {0.25, std::nullopt}};
  EXPECT_EQ(read_processor_use(nlohmann::json::parse(to_json(use).dump())), use);
}

TEST(ProcessorUse, IsNothingIfItIsNotOfThatForm) {
  for (const char* text :
       {"null",
        "3",
        "{}",
        R"({"cores":0,"server_seconds_a_gradient":1,"worker_seconds_an_iteration":[]})",
        R"({"cores":2,"server_seconds_a_gradient":-1,"worker_seconds_an_iteration":[]})",
        R"({"cores":2,"server_seconds_a_gradient":1,"worker_seconds_an_iteration":3})"}) {
    EXPECT_EQ(read_processor_use(nlohmann::json::parse(text)), std::nullopt) << text;
  }
}

TEST(ProcessorSeconds, AreOfThisMachineAlone) {
  EXPECT_GT(processor_seconds("").value_or(0.0), 0.0);
  char host[256] = {};
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  const std::string self = ":" + std::to_string(getpid());
  EXPECT_GT(processor_seconds(host + self).value_or(0.0), 0.0);
  for (const std::string& name : {std::string("nowhere") + self,
                                  std::string(host),
                                  std::string(host) + ":",
                                  std::string(host) + ":0"}) {
    EXPECT_EQ(processor_seconds(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace outpace::record
