// A steady run allocates nothing in decide(), whatever the policy.

#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "policy/auto_candidates.h"
#include "policy/catalogue.h"

namespace {

std::size_t allocations = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

// Replaces the one of the whole test program. Not inlined, because g++ 12 warns where it sees new
// end in free().
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace outpace::policy {
namespace {

constexpr std::uint32_t kWorkers = 64;

// Carries out as little as a policy can be driven with.
class BareDriver {
 public:
  BareDriver(const std::string& spec, const std::optional<BalanceOptions>& balance)
      : policy_(make_policy(Spec::parse(spec), kWorkers, {.balance = balance})),
        open_(kWorkers, false) {
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      pass(WorkerJoined{WorkerId{worker}});
    }
  }

  // Answers of workers with unequal speeds: the first is ten times as slow.
  void answer(int times) {
    while (times > 0) {
      const auto worker = static_cast<std::uint32_t>(rng_.below(kWorkers));
      if (!open_[worker] || (worker == 0 && rng_.below(10) != 0)) {
        continue;
      }
      open_[worker] = false;
      pass(GradientArrived{.worker = WorkerId{worker},
                           .release = Sequence{1},
                           .computed_on = Version{0},
                           .examples = 32,
                           .nominal = 32,
                           .partial = false,
                           .runtime = from_seconds(worker == 0 ? 10.0 : 1.0)});
      --times;
    }
  }

 private:
  void pass(const Event& event) {
    policy_->decide(Time{}, event, decision_);
    for (const Action& action : decision_.actions) {
      if (const auto* release = std::get_if<Release>(&action)) {
        open_[index(release->worker)] = true;
      }
    }
  }

  std::unique_ptr<Policy> policy_;
  Decision decision_;
  std::vector<bool> open_;
  Rng rng_{7, 0};
};

std::vector<std::string> with_settled_lists() {
  std::vector<std::string> specs{"saps:s=80,action=refresh",
                                 "saps:s=80,action=preempt",
                                 "saps",
                                 "saps:s=2.5x",
                                 "saps:s=80,action=shrink",
                                 "saps:s=80,action=dampen",
                                 "switch(async until updates>100 then ssp:s=2)"};
  Rng rng(3, 0);
  for (const Entry& entry : catalogue()) {
    const bool forecasts =
        entry.barrier(Spec{.name = entry.name}) == BarrierKind::kBestCutoff || entry.name == kAuto;
    if (!forecasts) {
      specs.push_back(draw_spec(entry, rng, kWorkers));
    }
  }
  return specs;
}

TEST(EveryPolicy, AllocatesNothingOnceItRuns) {
  for (const std::string& spec : with_settled_lists()) {
    for (const auto& balance : {std::optional<BalanceOptions>(), std::optional(BalanceOptions{})}) {
      BareDriver driver(spec, balance);
      driver.answer(40'000);  // Lists come to their size.
      const std::size_t before = allocations;
      driver.answer(4000);
      EXPECT_EQ(allocations, before) << spec;
    }
  }
}

}  // namespace
}  // namespace outpace::policy
