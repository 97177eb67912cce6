// The newest decisions of a run, for a trace of them: of bounded memory, and cheap to add to.
//
// Pure. A reader need not hold up the adder: keep() shares what does not change any more.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "policy/policy.h"
#include "record/chrome_trace.h"

namespace outpace::record {

class RecentDecisions {
 public:
  static constexpr std::size_t kPart = 1000;  // Decisions that are forgotten together.
  static constexpr std::size_t kMost = 50 * kPart;

  struct Part {
    struct One {
      Time now;
      policy::Event event;
      policy::Reason reason;
      std::string words;        // For a recorded decision, in place of the reason.
      std::size_t actions_end;  // Where its actions end; they begin where those before it end.
    };
    ChromeTrace::Underway begin;
    std::vector<One> decided;
    std::vector<policy::Action> actions;
  };
  // Shared by the adder, which adds no more to them, and its readers. The last of these frees them.
  using Parts = std::vector<std::shared_ptr<const Part>>;

  RecentDecisions() = default;
  // The first decision is of this version.
  explicit RecentDecisions(Version version) { now_.version = version; }

  void add(Time now, const policy::Event& event, const ChromeTrace::Decided& decided);
  // All that is there; what comes later does not change it.
  [[nodiscard]] Parts keep() const;

 private:
  void follow(Time now, const policy::Event& event, std::span<const policy::Action> actions);
  ChromeTrace::Underway::Worker& worker(WorkerId id);

  ChromeTrace::Underway now_;
  Parts whole_;
  Part last_;
};

// A Chrome trace of these decisions (chrome_trace.h), the policy's name being that of its server.
[[nodiscard]] std::string trace_of(const RecentDecisions::Parts& parts, const std::string& policy);

}  // namespace outpace::record
