// `outpace-lab relay`: long, thin links between network namespaces, in place of netem, which few
// kernels have.
//
// Tested by test/program/thin_links_test.py.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include "base/error.h"
#include "lab_cli/commands.h"
#include "relay_run/relay.h"
#include "wire/descriptor.h"

namespace outpace::lab_cli {
namespace {

struct RelayWords {
  std::vector<std::string> links;
  Duration delay = std::chrono::milliseconds(25);
  double loss = 0.0;
  double rate = 0.0;
  std::uint64_t queue = relay::OneWayOptions{}.queue_bytes;
  std::uint64_t seed = 1;
};

relay_run::Ends parse_link(const std::string& text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) {
    throw usage_error("--link is '" + text +
                      "'; it takes two devices, such as host1/eth0,switch/port1");
  }
  return {text.substr(0, comma), text.substr(comma + 1)};
}

wire::Descriptor block_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  wire::Descriptor signals(signalfd(-1, &set, SFD_CLOEXEC));
  if (signals.number() < 0) {
    throw Error(ExitCode::kFailure, fmt::format("signalfd: {}", std::strerror(errno)));
  }
  return signals;
}

nlohmann::ordered_json to_json(const relay::Counts& counts) {
  return {{"packets", counts.packets},
          {"bytes", counts.bytes},
          {"lost", counts.lost},
          {"refused", counts.refused}};
}

int run_relay(const RelayWords& words) {
  const wire::Descriptor signals = block_signals();
  std::vector<relay_run::Ends> links;
  for (const std::string& text : words.links) {
    links.push_back(parse_link(text));
  }
  relay_run::Relay relay(links,
                         {.delay = words.delay,
                          .loss = words.loss,
                          .bits_per_second = words.rate * 1e6,
                          .queue_bytes = words.queue},
                         words.seed);
  // A packet whose time has come is late by what the kernel adds to a sleep.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // NOLINT(*-vararg): the C library's
  fmt::print("ready\n");
  std::fflush(stdout);
  relay.run(signals.number());
  auto found = nlohmann::ordered_json::array();
  for (const relay_run::LinkCounts& counts : relay.counts()) {
    found.push_back({{"out", to_json(counts.out)}, {"back", to_json(counts.back)}});
  }
  fmt::print("{}\n", found.dump());
  return 0;
}

}  // namespace

Run add_relay(job::OptionList& list) {
  auto words = std::make_shared<RelayWords>();
  list.add("link", words->links, "Join two new TAP devices, each NAMESPACE/DEVICE (repeatable)")
      .type("DEVICE,DEVICE")
      .required();
  list.add("delay", words->delay, "Time that a packet travels, each way");
  list.add("loss", words->loss, "Chance that a packet is lost, each way").between(0.0, 1.0);
  list.add("rate", words->rate, "Rate of each way of each link in Mbit/s; 0: no limit")
      .between(0.0);
  list.add("queue",
           words->queue,
           "Bytes that may wait for --rate, each way; what comes then is dropped");
  list.add("seed", words->seed, "Seed of the losses");
  return [words](const job::OptionList& /*chosen*/) { return run_relay(*words); };
}

}  // namespace outpace::lab_cli
