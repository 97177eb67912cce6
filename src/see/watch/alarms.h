// What deserves a person's attention, said once when it begins and once when it is over.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "watch/newest.h"

namespace outpace::watch {

enum class AlarmKind : std::uint8_t {
  kSlow,      // A worker has become slow, measured by its own past.
  kCluster,   // Most workers have become slow at once.
  kStalled,   // A worker is alive, and at a mini-batch for too long.
  kDead,      // A worker is gone without saying so.
  kStale,     // A gradient was applied that is staler than the bound.
  kLoss,      // The training loss is not finite, or grows.
  kDiskFull,  // The disk of the run's record is nearly full.
  kLinks,     // The connections between workers without a server are broken.
};
inline constexpr AlarmKind kAlarmKinds[] = {AlarmKind::kSlow,
                                            AlarmKind::kCluster,
                                            AlarmKind::kStalled,
                                            AlarmKind::kDead,
                                            AlarmKind::kStale,
                                            AlarmKind::kLoss,
                                            AlarmKind::kDiskFull,
                                            AlarmKind::kLinks};
// "slow", "cluster", "stalled", "dead", "stale", "loss", "disk", "links".
[[nodiscard]] const char* to_text(AlarmKind kind);

struct Alarm {
  Time at{};
  AlarmKind kind{};
  std::optional<WorkerId> worker;
  bool over = false;  // What was wrong is so no longer.
  std::string words;  // "worker 3 has become slow: 4.0x its own past".
};

class Alarms {
 public:
  using Told = std::function<void(const Alarm&)>;

  // Begins, unless it is on already; then nothing is said.
  void begin(Alarm alarm);
  // Ends, if it is on.
  void end(Alarm alarm);
  // One of both, as the alarm says.
  void tell(Alarm alarm) { alarm.over ? end(std::move(alarm)) : begin(std::move(alarm)); }

  [[nodiscard]] bool is_on(AlarmKind kind, std::optional<WorkerId> worker) const {
    return on_.contains({kind, worker});
  }
  // The alarms that are on at present, in the order of their kinds.
  [[nodiscard]] const std::map<std::pair<AlarmKind, std::optional<WorkerId>>, Alarm>& on() const {
    return on_;
  }
  // How many of this kind have begun.
  [[nodiscard]] std::uint64_t begun(AlarmKind kind) const;
  // The newest kLogged, with the number of all that were said so far.
  static constexpr std::size_t kLogged = 100;
  [[nodiscard]] const std::deque<Alarm>& log() const { return log_.items(); }
  [[nodiscard]] std::uint64_t said() const { return log_.added(); }
  [[nodiscard]] bool has_new() const { return !new_.empty(); }
  // What was said since the last call, for others to pass on.
  [[nodiscard]] std::deque<Alarm> take_new() { return std::exchange(new_, {}); }

 private:
  void say(const Alarm& alarm);

  std::map<std::pair<AlarmKind, std::optional<WorkerId>>, Alarm> on_;
  std::map<AlarmKind, std::uint64_t> begun_;
  Newest<Alarm, kLogged> log_;
  std::deque<Alarm> new_;
};

}  // namespace outpace::watch
