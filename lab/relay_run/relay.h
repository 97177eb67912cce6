// Joins pairs of TAP devices by long, thin links, until it is told to end.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "relay/one_way.h"
#include "relay_run/tap_device.h"

namespace outpace::relay_run {

// The two devices of a link, each as "NAMESPACE/DEVICE".
struct Ends {
  std::string near;
  std::string far;
};

struct LinkCounts {
  relay::Counts out;  // From near to far.
  relay::Counts back;
};

class Relay {
 public:
  // Makes the devices; both ways of each link have these options. Throws Error.
  Relay(const std::vector<Ends>& links, const relay::OneWayOptions& options, std::uint64_t seed);

  // Moves packets until this process gets one of the signals behind the descriptor (signalfd).
  void run(int signals);
  [[nodiscard]] std::vector<LinkCounts> counts() const;

 private:
  struct Way {
    TapDevice* from;
    TapDevice* to;
    relay::OneWay queue;
  };

  static void take_in(Way& way);
  static void let_out(Way& way);
  [[nodiscard]] Duration until_next() const;

  std::vector<std::unique_ptr<TapDevice>> devices_;
  std::vector<Way> ways_;  // Two for each link: out and back.
};

}  // namespace outpace::relay_run
