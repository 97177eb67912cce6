// The connections of `outpace join`, one of each machine that joined by a code.

#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "protocol/messages.h"
#include "server/statistics.h"
#include "wire/transport.h"

namespace outpace::live {

struct Guest {
  std::string pass;  // By which it came.
  std::vector<WorkerId> workers;
};

class Guests {
 public:
  void came(wire::ConnectionId connection, Guest guest) {
    all_.insert_or_assign(connection, std::move(guest));
  }
  void gone(wire::ConnectionId connection) { all_.erase(connection); }
  [[nodiscard]] const std::map<wire::ConnectionId, Guest>& all() const { return all_; }
  // Whether they are to hear now how the run goes.
  [[nodiscard]] bool due(Time now) {
    constexpr Duration kPeriod = std::chrono::seconds(1);
    const bool due = !all_.empty() && now - told_ >= kPeriod;
    told_ = due ? now : told_;
    return due;
  }
  // The status for one of them.
  [[nodiscard]] static protocol::Status status_for(const Guest& guest,
                                                   protocol::Status status,
                                                   const server::Statistics& statistics);

 private:
  std::map<wire::ConnectionId, Guest> all_;
  Time told_{};
};

}  // namespace outpace::live
