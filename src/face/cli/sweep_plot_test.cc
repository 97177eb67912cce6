#include "cli/sweep_plot.h"

#include <gtest/gtest.h>

#include "throughput/even_profile_test.h"
#include "throughput/known_sweep_test.h"

namespace outpace::cli {
namespace {

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(SweepPlot, NamesEachKindOnceAndTheIdeal) {
  const std::string plot = sweep_plot(throughput::known_sweep(), throughput::even_profile());
  EXPECT_TRUE(plot.starts_with("<svg")) << plot.substr(0, 80);
  for (const char* name : {">sync<",
                           ">ring<",
                           ">workers<",
                           ">examples/s<",
                           ">computing alone (ideal)<",
                           ">mlp, mini-batches of 8: predicted<"}) {
    EXPECT_EQ(times(plot, name), 1) << name;
  }
  EXPECT_EQ(times(plot, "Solid: the fine model"), 1);
  EXPECT_EQ(times(plot, "Dashed: the coarse model."), 1);
  EXPECT_EQ(times(plot, "Circle: number of workers at which it is saturated"), 1);
}

TEST(SweepPlot, ExplainsOnlyWhatItDraws) {
  throughput::Sweep coarse = throughput::known_sweep();
  std::erase_if(coarse.predictions, [](const throughput::ClusterPrediction& one) {
    return one.model == job::PredictionModel::kFine || one.workers > 2;
  });
  const std::string plot = sweep_plot(coarse, throughput::even_profile());
  EXPECT_EQ(times(plot, "Solid: the fine model"), 0);
  EXPECT_EQ(times(plot, "Dashed: the coarse model."), 1);
  EXPECT_EQ(times(plot, "Circle:"), 0);
}

}  // namespace
}  // namespace outpace::cli
