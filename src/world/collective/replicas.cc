#include "collective/replicas.h"

#include "base/check.h"

namespace outpace::collective {

void meet_halfway(std::span<float> mine,
                  std::span<const float> then,
                  std::span<const float> theirs) {
  CHECK(mine.size() == then.size() && mine.size() == theirs.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i] += 0.5F * (theirs[i] - then[i]);
  }
}

void move_towards(std::span<float> mine,
                  std::span<const float> then,
                  std::span<const float> theirs,
                  float alpha) {
  CHECK(mine.size() == then.size() && mine.size() == theirs.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i] += alpha * (theirs[i] - then[i]);
  }
}

void mean_with(std::span<float> mine, std::span<const float> sum, std::uint32_t count) {
  CHECK(mine.size() == sum.size());
  const float part = 1.0F / (1.0F + static_cast<float>(count));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    mine[i] = (mine[i] + sum[i]) * part;
  }
}

std::vector<float> mean_of(std::span<const std::vector<float>> replicas) {
  CHECK(!replicas.empty());
  std::vector<double> sum(replicas.front().size());
  for (const std::vector<float>& replica : replicas) {
    CHECK(replica.size() == sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += static_cast<double>(replica[i]);
    }
  }
  std::vector<float> mean(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    mean[i] = static_cast<float>(sum[i] / static_cast<double>(replicas.size()));
  }
  return mean;
}

}  // namespace outpace::collective
