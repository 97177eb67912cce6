// What workers had reached with an earlier server of this job, or of another one.
//
// A worker says in its hello which job it computed for last, and how far that was. A server must
// not fall behind that unseen: it goes on from its checkpoint and says what is lost, or it refuses
// to begin anew.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "protocol/messages.h"

namespace outpace::admission {

class EarlierRun {
 public:
  struct Options {
    std::uint64_t job = 1;
    bool begins_again = false;  // As in admission::Options.
  };
  explicit EarlierRun(const Options& options) : options_(options) {}

  // The run goes on from this version of it.
  void resume(Version version) { resumed_at_ = version; }
  [[nodiscard]] bool resumed() const { return resumed_at_.has_value(); }

  // Both are empty if there is nothing to say.
  struct Found {
    std::string lost;              // For people.
    std::string would_begin_anew;  // The run must not begin, for this reason.
  };
  // `version`: the run's, once it has begun.
  [[nodiscard]] Found look_back(const protocol::Hello& worker, std::optional<Version> version);

 private:
  Options options_;
  std::optional<Version> resumed_at_;
  std::uint64_t lost_ = 0;  // Updates that workers saw after the checkpoint, as far as was said.
};

}  // namespace outpace::admission
