#include "report/run_report.h"

#include <chrono>

#include <gtest/gtest.h>

namespace outpace::report {
namespace {

using namespace std::chrono_literals;

// A run of one worker, of updates of its gradients alone.
void train(watch::Board& board, int updates) {
  Time now{};
  board.decided(now,
                policy::WorkerJoined{WorkerId{0}},
                std::vector<policy::Action>{policy::Release{WorkerId{0}}},
                {});
  for (int i = 0; i < updates; ++i) {
    now += 100ms;
    board.decided(now,
                  policy::GradientArrived{.worker = WorkerId{0},
                                          .release = Sequence{1},
                                          .computed_on = Version{static_cast<std::uint64_t>(i)},
                                          .examples = 8,
                                          .nominal = 8,
                                          .partial = false,
                                          .runtime = 100ms},
                  std::vector<policy::Action>{policy::Accept{WorkerId{0}, Sequence{1}, 1.0},
                                              policy::Commit{},
                                              policy::Release{WorkerId{0}}},
                  {});
    board.look(now, 2.0 / (1 + i));
  }
  board.ended("updates done");
}

TEST(RunReport, IsOneDocumentWithFiguresAndWords) {
  watch::Board board({.name = "async", .run = "runs/<b>&\"", .workers = 1});
  train(board, 100);
  const std::string html = html_of({{.board = &board,
                                     .command = "train",
                                     .config = "policy = \"async\"  # <default>\n",
                                     .whatif = std::nullopt,
                                     .why_no_whatif = "the log is cut short"}});
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_TRUE(html.ends_with("</body></html>\n"));
  EXPECT_NE(html.find("runs/&lt;b&gt;&amp;&quot;"), std::string::npos);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_EQ(html.find("<?xml"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos) << "it depends on nothing";
  EXPECT_EQ(html.find("href="), std::string::npos);
  EXPECT_NE(html.find("updates done"), std::string::npos);
  EXPECT_NE(html.find("the log is cut short"), std::string::npos);
  EXPECT_NE(html.find("outpace train --resolved=config.toml"), std::string::npos);
  EXPECT_EQ(html.find("Side by side"), std::string::npos);
}

TEST(RunReport, ComparesSeveralRuns) {
  watch::Board one({.name = "async", .run = "a", .workers = 1});
  watch::Board other({.name = "sync", .run = "b", .workers = 1});
  train(one, 20);
  const std::string html =
      html_of({{.board = &one, .whatif = std::nullopt}, {.board = &other, .whatif = std::nullopt}});
  EXPECT_NE(html.find("Side by side"), std::string::npos);
  EXPECT_NE(html.find("<h2>a</h2>"), std::string::npos);
  EXPECT_NE(html.find("<h2>b</h2>"), std::string::npos);
}

}  // namespace
}  // namespace outpace::report
