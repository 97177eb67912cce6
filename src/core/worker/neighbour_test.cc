#include "worker/neighbour.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace outpace::worker {
namespace {

using Ranks = std::vector<std::uint32_t>;

constexpr std::array kGraphs{
    Graph::kComplete, Graph::kBipartite, Graph::kRing, Graph::kExponential};

TEST(NeighboursOf, AreThoseOfTheGraph) {
  EXPECT_EQ(neighbours_of(2, 5, Graph::kComplete, false), (Ranks{0, 1, 3, 4}));
  EXPECT_EQ(neighbours_of(0, 8, Graph::kBipartite, true), (Ranks{1, 3, 5, 7}));
  EXPECT_EQ(neighbours_of(1, 5, Graph::kBipartite, true), (Ranks{0, 2, 4}));
  EXPECT_EQ(neighbours_of(0, 8, Graph::kRing, true), (Ranks{1, 7}));
  EXPECT_EQ(neighbours_of(3, 8, Graph::kRing, true), (Ranks{2, 4}));
  // 1, 3, 5, 9 and 17 apart, forwards and backwards.
  EXPECT_EQ(neighbours_of(0, 32, Graph::kExponential, true),
            (Ranks{1, 3, 5, 9, 15, 17, 23, 27, 29, 31}));
}

TEST(NeighboursOf, ARingOfAnOddNumberLacksOneEdgeAcrossTheSides) {
  EXPECT_EQ(neighbours_of(0, 5, Graph::kRing, true), Ranks{1});
  EXPECT_EQ(neighbours_of(4, 5, Graph::kRing, true), Ranks{3});
  EXPECT_EQ(neighbours_of(0, 5, Graph::kRing, false), (Ranks{1, 4}));
}

// What a gossip needs of a graph: each edge both ways, and news of one worker reaches all.
TEST(NeighboursOf, GoBothWaysAndReachAll) {
  for (const Graph graph : kGraphs) {
    for (const bool across : {false, true}) {
      for (std::uint32_t size = 2; size <= 33; ++size) {
        SCOPED_TRACE(size);
        std::set<std::uint32_t> reached{0};
        Ranks to_visit{0};
        while (!to_visit.empty()) {
          const std::uint32_t rank = to_visit.back();
          to_visit.pop_back();
          for (const std::uint32_t other : neighbours_of(rank, size, graph, across)) {
            const Ranks back = neighbours_of(other, size, graph, across);
            EXPECT_TRUE(std::ranges::binary_search(back, rank)) << rank << " and " << other;
            EXPECT_TRUE(!across || side_of(other) != side_of(rank));
            if (reached.insert(other).second) {
              to_visit.push_back(other);
            }
          }
        }
        EXPECT_EQ(reached.size(), size);
        double edges = 0.0;
        for (std::uint32_t rank = 0; rank < size; ++rank) {
          edges += static_cast<double>(neighbours_of(rank, size, graph, across).size());
        }
        EXPECT_DOUBLE_EQ(mean_neighbours(size, graph, across), edges / size);
      }
    }
  }
}

TEST(NeighboursOf, AreDrawnAllAlike) {
  Rng rng(1, 0);
  for (const Graph graph : kGraphs) {
    for (const bool across : {false, true}) {
      for (const std::uint32_t size : {2U, 5U, 12U}) {
        std::set<std::uint32_t> drawn;
        for (int i = 0; i < 1000; ++i) {
          drawn.insert(draw_neighbour(rng, size - 1, size, graph, across));
        }
        const Ranks all = neighbours_of(size - 1, size, graph, across);
        EXPECT_EQ(Ranks(drawn.begin(), drawn.end()), all) << size;
      }
    }
  }
  EXPECT_EQ(mean_neighbours(8, Graph::kExponential, true), 4.0);
  EXPECT_EQ(mean_neighbours(5, Graph::kRing, true), 8 / 5.0);
}

TEST(Neighbours, AreMetAboutAsOften) {
  for (const std::uint32_t size : {2U, 3U, 8U, 9U}) {
    SCOPED_TRACE(size);
    const Ranks ranks = neighbours_of(0, size, Graph::kBipartite, true);
    Neighbours neighbours(0, ranks, 7);
    std::map<std::uint32_t, int> met;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; ++i) {
      ++met[neighbours.next()];
    }
    EXPECT_EQ(met.size(), ranks.size());
    const double expected = static_cast<double>(kDraws) / static_cast<double>(ranks.size());
    for (const auto& [rank, times] : met) {
      EXPECT_TRUE(std::ranges::binary_search(ranks, rank));
      // Six standard deviations of a binomial count, at most.
      EXPECT_NEAR(times, expected, 6.0 * 71.0) << rank;
    }
  }
}

TEST(Neighbours, DependOnSeedAndRankAlone) {
  const auto draws = [](std::uint32_t rank, std::uint64_t seed) {
    Neighbours neighbours(rank, neighbours_of(rank, 32, Graph::kBipartite, true), seed);
    std::uint64_t all = 0;
    for (int i = 0; i < 12; ++i) {
      all = all * 32 + neighbours.next();
    }
    return all;
  };
  EXPECT_EQ(draws(4, 1), draws(4, 1));
  EXPECT_NE(draws(4, 1), draws(6, 1));
  EXPECT_NE(draws(4, 1), draws(4, 2));
}

}  // namespace
}  // namespace outpace::worker
