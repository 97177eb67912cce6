// What a worker computes and at what pace: a Work is a value with defaults.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/spec.h"
#include "base/time.h"
#include "job/option_list.h"
#include "job/value_text.h"
#include "worker/attack.h"
#include "worker/pace.h"

namespace outpace::job {

// For help texts; src/world/learn, which not every build has, reads them.
inline constexpr const char* kNetworks =
    "mlp, cnn, cifar, resnet8, resnet18[:width=64] or charlm[:layers=2,width=64,heads=4]";
inline constexpr const char* kDataSets =
    "fashion-mnist[:dir=DIR], cifar10:DIR[,train=50000][,test=10000], idx:DIR, "
    "csv:FILE[,test-every=10] or text:FILE[,context=64]; augment=crop, flip or crop+flip changes "
    "training images at random";

// Reads the whole file that an option names. Throws a usage error that names the option.
using ReadFile = std::function<std::string(const std::string& option, const std::string& path)>;

template <>
struct Choices<worker::DelaysBy> {
  static constexpr std::array<std::pair<std::string_view, worker::DelaysBy>, 2> kWords{
      {{"time", worker::DelaysBy::kTime}, {"iteration", worker::DelaysBy::kIteration}}};
};

// Stragglers on demand.
struct Delays {
  std::string file;  // A trace of delays; empty: none.
  worker::DelaysBy by = worker::DelaysBy::kTime;
  Duration period = std::chrono::milliseconds(20);
  std::vector<std::string> slow;  // As worker::Slow::parse() reads them.
};
void declare(OptionList& options, Delays& delays);

// By what factor --slow slows one worker of `workers`; 1: not at all. Throws a usage error.
[[nodiscard]] double slow_factor(const Delays& delays, std::uint32_t worker, std::uint32_t workers);
// The trace of --delays. REQUIRES: there is one. Throws a usage error.
[[nodiscard]] worker::DelayTrace delay_trace(const Delays& delays,
                                             std::uint32_t workers,
                                             const ReadFile& read_file);
// Each worker's pace. A trace is read once. Throws a usage error for a wrong trace or option.
[[nodiscard]] std::vector<worker::Pace> paces_of(const Delays& delays,
                                                 std::uint32_t workers,
                                                 const ReadFile& read_file);

// How much of a gradient leaves at a time.
struct SliceSize {
  std::uint64_t bytes = std::uint64_t{256} << 10U;  // 0: all.
  std::string text = "256KiB";
};
template <>
struct Value<SliceSize> {
  static constexpr const char* kType = "SIZE";
  static std::string takes() { return "a size with its unit such as 256KiB or 1MiB, or 0"; }
  static std::optional<SliceSize> parse(std::string_view text);
  static std::string text(const SliceSize& value) { return value.text; }
};
void declare(OptionList& options, SliceSize& slice);

inline constexpr double kBucketKibMost = 1U << 20U;  // For --bucket-kib.

struct Work {
  Spec network = Spec::parse("mlp");
  Spec data = Spec::parse("fashion-mnist");
  std::string paced;  // A profile; empty: gradients are computed.
  std::uint32_t threads = 1;
  Delays delays;
  SliceSize slice;                   // Not of a ring or gossip, and declared apart.
  std::vector<std::string> attacks;  // As worker::Attack::parse() reads them.
};
void declare(OptionList& options, Work& work);
void declare_attacks(OptionList& options, std::vector<std::string>& attacks);

// Whether a worker that waits instead of computing waits longer because it is slowed: what its
// waits overrun by is then not slowed as well, and its pace is its own.
[[nodiscard]] bool waits_longer(const Work& work);
// The pace of one worker of `workers`. Throws a usage error for a wrong trace or option.
[[nodiscard]] worker::Pace make_pace(const Work& work,
                                     std::uint32_t worker,
                                     std::uint32_t workers,
                                     const ReadFile& read_file);
// Throws a usage error that says what is wrong with one of them.
[[nodiscard]] std::vector<worker::Attack> parse_attacks(const std::vector<std::string>& attacks,
                                                        std::uint32_t workers);
// Throws a usage error for a wrong trace or attack, which would make every worker fail.
void check(const Work& work, std::uint32_t workers, const ReadFile& read_file);

}  // namespace outpace::job
