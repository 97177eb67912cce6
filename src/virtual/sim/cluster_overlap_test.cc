// Runs of a cluster whose transfers overlap with computing, beside their critical path.

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "links/shapes.h"
#include "sim/cluster.h"
#include "sim/overlap.h"

namespace outpace::sim {
namespace {

constexpr double kBandwidth = 1e6;

struct OverlappedJob {
  std::string policy = "sync";
  std::string runtime = "constant(mean=600ms)";
  std::uint32_t workers = 4;
  server::Limits limits{.updates = 10};
  Duration latency{};
  Performed performed = {};
  double window = 0.0;
};

double payload_of(const Overlap& overlap) {
  double bytes = 0.0;
  for (const Overlap::Piece& piece : overlap.pieces) {
    bytes += piece.bytes;
  }
  return bytes;
}

ClusterResult run_overlapped(const OverlappedJob& job, const Overlap& overlap) {
  Transfers::Options links{
      .topology = links::make_shape(Spec::parse("star"),
                                    {.hosts = job.workers + 1U, .bandwidth = kBandwidth}),
      .payload = payload_of(overlap),
      .window = job.window};
  for (const Overlap::Piece& piece : overlap.pieces) {
    links.pieces.push_back(piece.bytes);
  }
  const ClusterOptions options{
      .policy = Spec::parse(job.policy),
      .coordinator = {.workers = job.workers, .batch = 4, .examples = 256, .limits = job.limits},
      .shard = {.optimizer = Spec::parse("sgd")},
      .target = {},
      .latency = job.latency,
      .links = &links,
      .overlap = &overlap,
      .performed = job.performed};
  DrawnTiming timing(
      Runtimes::parse(job.runtime, {.workers = job.workers, .seed = 1, .read_file = {}}), {});
  return Cluster(options, timing, nullptr, nullptr, nullptr).run();
}

// As make validate-slices computes it: workers in step share the server's link evenly.
double critical_path(const Overlap& overlap, double seconds, double workers) {
  double arrived = 0.0;
  double done = 0.0;
  std::size_t piece = 0;
  for (std::size_t layer = 0; layer < overlap.layers.size(); ++layer) {
    for (; piece < overlap.pieces.size() && overlap.pieces[piece].layer == layer; ++piece) {
      arrived += workers * overlap.pieces[piece].bytes / kBandwidth;
      done = std::max(done, arrived);
    }
    done += seconds * overlap.layers[layer].forward;
  }
  double sent = 0.0;
  std::size_t slice = 0;
  for (std::size_t layer = overlap.layers.size(); layer-- > 0;) {
    done += seconds * overlap.layers[layer].backward;
    for (; slice < overlap.slices.size() && overlap.slices[slice].layer == layer; ++slice) {
      sent = std::max(sent, done) + workers * overlap.slices[slice].bytes / kBandwidth;
    }
  }
  return sent;
}

// Two layers of 300 ms; 50 kB and 25 kB of weights take four workers 200 and 100 ms.
Overlap two_layers() {
  return {.layers = {{.forward = 1.0 / 6, .backward = 2.0 / 6},
                     {.forward = 1.0 / 6, .backward = 2.0 / 6}},
          .pieces = {{.bytes = 5e4, .layer = 0}, {.bytes = 2.5e4, .layer = 1}},
          .slices = {{.bytes = 2.5e4, .layer = 1}, {.bytes = 5e4, .layer = 0}}};
}

TEST(ClusterOverlap, TransfersHideBehindPasses) {
  // 200 ms until the forward pass begins; 600 ms of passes, during which the rest comes and the
  // second layer's gradient goes; 200 ms for the first layer's gradient.
  const ClusterResult result = run_overlapped({}, two_layers());
  EXPECT_NEAR(to_seconds(result.statistics.last_commit.time_since_epoch()), 10 * 1.0, 1e-6);
}

TEST(ClusterOverlap, APassWaitsForLateWeightsAndASliceForTheLink) {
  // 30 ms each pass: weights come after 200 and 300 ms, the pass ends at 390 and both gradients
  // follow each other from 360 on.
  const ClusterResult result = run_overlapped({.runtime = "constant(mean=180ms)"}, two_layers());
  EXPECT_NEAR(to_seconds(result.statistics.last_commit.time_since_epoch()),
              10 * (0.300 + 0.030 + 0.060 + 0.300),
              1e-6);
}

TEST(ClusterOverlap, IsTheCriticalPathOfWorkersInStep) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed, 0);
    Overlap overlap;
    const std::size_t layers = 1 + rng.below(8);
    std::vector<double> bytes;
    double all = 0.0;
    for (std::size_t i = 0; i < layers; ++i) {
      overlap.layers.push_back({0.1 + rng.uniform(), 0.1 + rng.uniform()});
      all += overlap.layers.back().forward + overlap.layers.back().backward;
      bytes.push_back(static_cast<double>(1 + rng.below(50'000)));
    }
    for (std::size_t i = 0; i < layers; ++i) {
      overlap.layers[i].forward /= all;
      overlap.layers[i].backward /= all;
      overlap.pieces.push_back({bytes[i], i});
      overlap.slices.push_back({bytes[layers - 1 - i], layers - 1 - i});
    }
    const auto workers = static_cast<std::uint32_t>(1 + rng.below(5));
    const ClusterResult result = run_overlapped({.workers = workers}, overlap);
    EXPECT_NEAR(to_seconds(result.statistics.last_commit.time_since_epoch()),
                10 * critical_path(overlap, 0.6, workers),
                1e-5);
  }
}

TEST(ClusterOverlap, WeightsThatGoOutInTurnComeInPiecesToo) {
  // The window takes a worker's weights at once: the last worker has its pieces at 275 and 300 ms,
  // the first at 50 and 75. Its gradient's slices find the link free.
  const ClusterResult result =
      run_overlapped({.limits = {.updates = 1}, .window = 1e6}, two_layers());
  // Slices of 25 kB from 425, 500, 575 and 650 ms on; the second ones from 725, 800 and so on are
  // shared by two workers.
  const double last = to_seconds(result.statistics.last_commit.time_since_epoch());
  EXPECT_GT(last, 0.275 + 0.600 + 0.050 - 1e-9);
  EXPECT_LT(last, 1.0);
}

TEST(ClusterOverlap, EveryPolicyGoesOnWhenWorkersAreCutOff) {
  for (const char* const policy : {"backup:cutoff=3",
                                   "ksync:k=2",
                                   "kbatchsync:k=3",
                                   "async",
                                   "ssp:s=1",
                                   "dynamic",
                                   "saps:s=12,action=preempt",
                                   "softsync:n=2"}) {
    SCOPED_TRACE(policy);
    std::map<Operation::Kind, int> seen;
    std::map<std::pair<std::uint32_t, bool>, Time> ended;  // By worker: computing, sending.
    const auto performed = [&](const Operation& one) {
      ++seen[one.kind];
      EXPECT_LE(one.begin, one.end);
      const bool passes =
          one.kind == Operation::Kind::kForward || one.kind == Operation::Kind::kBackward;
      if (passes || one.kind == Operation::Kind::kSend) {  // One at a time.
        Time& before = ended[{one.worker, passes}];
        EXPECT_LE(before, one.begin + std::chrono::microseconds(1));
        before = one.end;
      }
    };
    const ClusterResult result = run_overlapped({.policy = policy,
                                                 .runtime = "exponential(mean=600ms)",
                                                 .limits = {.updates = 200},
                                                 .latency = std::chrono::milliseconds(3),
                                                 .performed = performed},
                                                two_layers());
    EXPECT_EQ(result.code, ExitCode::kDone);
    EXPECT_EQ(result.statistics.updates, 200U);
    EXPECT_GT(seen[Operation::Kind::kForward], 200);
    EXPECT_EQ(seen[Operation::Kind::kForward], seen[Operation::Kind::kBackward]);
  }
}

}  // namespace
}  // namespace outpace::sim
