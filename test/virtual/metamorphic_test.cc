// Metamorphic tests of every policy in the catalogue: a change of the cluster that must not matter,
// or must matter in a known way.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "metamorphic_run.h"
#include "settings.h"

namespace outpace::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A setting of a policy, and what may be asked of its runs.
struct Setting {
  std::string policy;

  // Its forecasts are sums of floating-point numbers: those of another order, or of times rounded
  // to a nanosecond, may turn a decision that was as good either way.
  [[nodiscard]] bool forecasts() const { return is("dynamic") || is("auto"); }
  // Draws by a worker's number, so that other numbers are another draw; or chooses among workers
  // that are alike by it, as saps does where a switch releases all at one version.
  [[nodiscard]] bool draws_by_number() const {
    return policy == "psp:beta=2,s=1" || is("switch(backup");
  }
  // A drawn runtime may be so long that the model believes in it for long: of 16 short runs of
  // truncated draws, one was 43 % slower than with its workers numbered otherwise.
  [[nodiscard]] bool imputes() const { return policy.find("imputation=") != std::string::npos; }
  // Counts examples within a mini-batch, or rounds its size.
  [[nodiscard]] bool splits_batches() const {
    return is("saps") || policy.find("saps") != std::string::npos;
  }
  // Interrupts at moments when messages travel: one that crosses another changes what follows.
  [[nodiscard]] bool is_chaotic() const { return forecasts() || splits_batches(); }

 private:
  [[nodiscard]] bool is(const std::string& name) const { return policy.rfind(name, 0) == 0; }
};

// Clusters that differ in what policies see: who is slow, how far runtimes spread, whether messages
// and updates take time, who comes and goes.
std::vector<Scene> scenes(const Setting& setting) {
  const std::uint64_t updates = setting.forecasts() ? 120 : 600;
  Scene two_speeds{.policy = setting.policy,
                   .means = {0.1, 0.1, 0.17, 0.1, 0.17, 0.1},
                   .limits = {.updates = updates}};
  two_speeds.cv = 0.05;
  Scene troubled = two_speeds;
  troubled.cv = 0.2;
  troubled.latency = milliseconds(3);
  troubled.apply = microseconds(200);
  troubled.faults = {{.kind = Fault::Kind::kSlow,
                      .worker = WorkerId{1},
                      .at = Time{seconds(8)},
                      .lasts = seconds(4),
                      .factor = 3.0},
                     {.kind = Fault::Kind::kCrash,
                      .worker = WorkerId{4},
                      .at = Time{seconds(10)},
                      .lasts = seconds(3)}};
  if (setting.forecasts()) {
    return {two_speeds, troubled};
  }
  Scene exponential{.policy = setting.policy,
                    .means = std::vector<double>(kSixWorkers, 0.1),
                    .limits = {.updates = updates}};
  exponential.cv = -1.0;
  exponential.latency = microseconds(300);
  return {two_speeds, troubled, exponential};
}

void expect_same(const Outcome& one, const Outcome& other, const char* relation) {
  const auto [left, right] = std::mismatch(
      one.moments.begin(), one.moments.end(), other.moments.begin(), other.moments.end());
  EXPECT_TRUE(left == one.moments.end() && right == other.moments.end())
      << relation << ": differs at moment " << (left - one.moments.begin()) << " of "
      << one.moments.size() << ", " << other.moments.size();
}

// How far two runs of one cluster may differ that decided a few times otherwise: five standard
// errors of the difference of two means, of updates whose times vary no more than runtimes do.
double noise(const Scene& scene) {
  const double cv = scene.cv < 0.0 ? 1.0 : scene.cv;
  return 5.0 * cv * std::sqrt(2.0 / double(scene.limits.updates));
}

void expect_as_fast(const Scene& one_scene,
                    const Outcome& one,
                    const Scene& other_scene,
                    double within,
                    const char* relation) {
  const double ratio =
      run(other_scene).examples_per_second(other_scene) / one.examples_per_second(one_scene);
  EXPECT_NEAR(ratio, 1.0, within) << relation;
}

void no_latency_is_as_one_nanosecond(const Setting& setting, const Scene& given) {
  Scene none = given;
  none.latency = {};
  Scene least = given;
  least.latency = std::chrono::nanoseconds(1);
  const double within = setting.is_chaotic() ? noise(given) : 0.001;
  expect_as_fast(none, run(none), least, within, "latency 0 and 1 ns");
}

void twice_the_times_take_twice_as_long(const Setting& setting,
                                        const Scene& scene,
                                        const Outcome& base) {
  Scene doubled = scene;
  doubled.unit = 2;
  if (setting.forecasts()) {
    expect_as_fast(scene, base, doubled, noise(scene), "times doubled");
    return;
  }
  const Outcome two = run(doubled);
  expect_same(base, two, "times doubled");
  EXPECT_EQ(two.result.ended - Time{}, 2 * (base.result.ended - Time{}));
}

void workers_may_be_numbered_otherwise(const Setting& setting,
                                       const Scene& scene,
                                       const Outcome& base) {
  const std::vector<std::uint32_t> labels{3, 0, 4, 5, 2, 1};
  Scene renumbered = scene;
  renumbered.labels = labels;
  for (Fault& fault : renumbered.faults) {
    const auto place = std::find(labels.begin(), labels.end(), std::uint32_t(index(fault.worker)));
    fault.worker = WorkerId{std::uint32_t(place - labels.begin())};
  }
  if (setting.imputes()) {
    return;
  }
  if (setting.forecasts() || setting.draws_by_number()) {
    expect_as_fast(scene, base, renumbered, noise(scene), "renumbered");
  } else {
    expect_same(base, run(renumbered), "renumbered");
  }
}

void worker_that_never_comes_is_one_fewer(const Scene& scene, const Outcome& base) {
  Scene last = scene;
  last.means.push_back(0.1);
  last.absent = {kSixWorkers};
  expect_same(base, run(last), "the last worker never comes");
  Scene first = last;
  first.labels = {6, 0, 1, 2, 3, 4, 5};
  first.absent = {0};
  for (Fault& fault : first.faults) {
    fault.worker = WorkerId{std::uint32_t(index(fault.worker)) + 1};
  }
  expect_same(base, run(first), "the first worker never comes");
}

void shorter_run_is_the_beginning(const Scene& scene, const Outcome& base) {
  Scene shorter = scene;
  shorter.limits.updates /= 2;
  const Outcome one = run(shorter);
  ASSERT_LE(one.moments.size(), base.moments.size());
  for (std::size_t i = 0; i + 1 < one.moments.size(); ++i) {
    ASSERT_EQ(one.moments[i], base.moments[i]) << "shorter: differs at moment " << i;
  }
}

void larger_batches_are_the_same(const Setting& setting, const Scene& scene, const Outcome& base) {
  Scene larger = scene;
  larger.batch *= 2;
  larger.examples *= 2;
  if (!setting.splits_batches()) {
    expect_same(base, run(larger), "mini-batches doubled");
  }
}

class Metamorphic : public testing::TestWithParam<std::string> {};

TEST_P(Metamorphic, RelationsHold) {
  for (const std::string& policy : settings_of(GetParam())) {
    const Setting setting{policy};
    const std::vector<Scene> all = scenes(setting);
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(policy + ", cluster " + std::to_string(i));
      const Outcome base = run(all[i]);
      no_latency_is_as_one_nanosecond(setting, all[i]);
      twice_the_times_take_twice_as_long(setting, all[i], base);
      workers_may_be_numbered_otherwise(setting, all[i], base);
      worker_that_never_comes_is_one_fewer(all[i], base);
      shorter_run_is_the_beginning(all[i], base);
      larger_batches_are_the_same(setting, all[i], base);
    }
  }
}

// What equal, constant workers are promised by the catalogue.
struct Promise {
  double share = 1.0;      // The share of computed gradients that is used.
  int extra_messages = 0;  // An update waits for, beside the weights and the gradient.
};

Promise promise_of_barrier(const Spec& policy) {
  const std::uint32_t cutoff =
      policy::make_policy(policy, kSixWorkers)->nominal_cutoff(kSixWorkers);
  switch (policy::barrier_of(policy)) {
    case policy::BarrierKind::kCutoff:
      return {cutoff / 6.0};
    case policy::BarrierKind::kRestarting:  // All compute at each update, are cancelled and say so.
      return {cutoff / 6.0, cutoff > 1 ? 2 : 0};
    case policy::BarrierKind::kDistinct:  // As many groups take turns as there are; the rest wait.
      return {kSixWorkers / cutoff * cutoff / 6.0};
    default:
      return {};
  }
}

std::optional<Promise> promise_of(const std::string& policy) {
  static const std::map<std::string, Promise> kPromises{
      {"dynamic:min=3,max=5", {5.0 / 6}},
      {"saps:s=4,action=refresh", {5.0 / 6}}};  // No worker has two of s + 1 updates in a row.
  // These depend on more: how much of a mini-batch is done when it is cut off, or who is cancelled.
  static const std::set<std::string> kDepend{
      "saps:s=4", "saps:s=4,action=shrink", "adasync:k=3,rule=kbatchsync"};
  if (kDepend.contains(policy) || policy.rfind("switch(backup", 0) == 0) {
    return std::nullopt;
  }
  const auto found = kPromises.find(policy);
  return found == kPromises.end() ? promise_of_barrier(Spec::parse(policy)) : found->second;
}

TEST_P(Metamorphic, EqualWorkersGiveWhatIsPromised) {
  for (const Duration latency : {Duration{}, Duration{milliseconds(2)}}) {
    Scene sync{.policy = "sync", .means = std::vector<double>(kSixWorkers, 0.1)};
    sync.cv = 0.0;
    sync.latency = latency;
    sync.apart = {};
    sync.limits = {.seconds = seconds(15)};
    const double of_sync = run(sync).examples_per_second(sync);
    for (const std::string& policy : settings_of(GetParam())) {
      Scene scene = sync;
      scene.policy = policy;
      if (const std::optional<Promise> promise = promise_of(policy)) {
        const double messages = to_seconds(latency);
        const double whole = 0.1 + 2.0 * messages;
        const double expected =
            promise->share * whole / (whole + promise->extra_messages * messages);
        EXPECT_NEAR(run(scene).examples_per_second(scene) / of_sync, expected, 0.01 * expected)
            << policy << ", latency " << messages;
      }
    }
  }
}

// An exponential runtime that is interrupted and begun anew takes as long again as one that goes
// on. So interrupting who is late costs nothing, where waiting for a gradient that will be dropped
// loses an eighth.
TEST(Metamorphic, SapsKeepsTheThroughputOfAsyncWithExponentialRuntimes) {
  Scene async{.policy = "async", .means = std::vector<double>(8, 0.1)};
  async.cv = -1.0;
  async.limits = {.updates = 20'000};
  const double of_async = run(async).examples_per_second(async);
  for (const char* policy : {"saps", "saps:action=refresh", "saps:action=shrink"}) {
    Scene scene = async;
    scene.policy = policy;
    EXPECT_GT(run(scene).examples_per_second(scene) / of_async, 1.0 - noise(async)) << policy;
  }
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const policy::Entry& entry : policy::catalogue()) {
    names.push_back(entry.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Catalogue,
                         Metamorphic,
                         testing::ValuesIn(names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace outpace::sim
