// Our flows beside SimGrid 3.32's: on random topologies, the same transfers end at the same times;
// and of the same platform files, we read the same routes.
//
// SimGrid is set to what links/flows.h says: CM02, no TCP-gamma, no cross-traffic; its precisions
// are set below what is compared here. It shares all out anew at each event (optim:Full). Its
// default, optim:Lazy, does not always find the max-min rates, as of 3.32: of five transfers from
// time 0 over links of 1 GB/s and 50 us, one up and one down for each host, of 17 MB 3->2, 13 MB
// 1->3, 5 and 7 MB 3->0, and 19 MB 1->0, it gives the second half of its link from the beginning,
// and ends it at 26.1 ms. But 1->0 has a third of its link until 15.1 ms, and so 1->3 ends at
// 0.1 + 15 + (13 - 10) / 0.5 = 21.1 ms.
//
// An engine cannot start again in its process: each run is in a process of its own, which writes
// its answer into a pipe.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simgrid/s4u.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/spec.h"
#include "links/flows.h"
#include "links/plain_sharing_test.h"
#include "links/platform.h"
#include "links/shapes.h"

namespace outpace::links {
namespace {

namespace s4u = simgrid::s4u;

constexpr std::size_t kRunCases = 100;  // Cases in one process.

// What `answer` gives in a process of its own.
std::vector<double> elsewhere(const std::function<std::vector<double>()>& answer) {
  int ends[2];
  if (::pipe(ends) != 0) {
    throw std::runtime_error("no pipe");
  }
  const ::pid_t child = ::fork();
  if (child == 0) {
    const std::vector<double> values = answer();
    const std::span<const std::byte> bytes = std::as_bytes(std::span(values));
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ::ssize_t now = ::write(ends[1], bytes.data() + sent, bytes.size() - sent);
      if (now <= 0) {
        ::_exit(1);
      }
      sent += static_cast<std::size_t>(now);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::vector<double> values;
  double value = 0.0;
  std::size_t filled = 0;
  while (true) {
    const auto into = std::as_writable_bytes(std::span(&value, 1)).subspan(filled);
    const ::ssize_t now = ::read(ends[0], into.data(), into.size());
    if (now <= 0) {
      break;
    }
    filled += static_cast<std::size_t>(now);
    if (filled == sizeof value) {
      values.push_back(value);
      filled = 0;
    }
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "SimGrid's process failed";
  return values;
}

class Engine {
 public:
  Engine()
      : options_{"simgrid_test",
                 "--cfg=network/model:CM02",
                 "--cfg=network/TCP-gamma:0",
                 "--cfg=network/crosstraffic:0",
                 "--cfg=network/optim:Full",
                 "--cfg=surf/precision:1e-10",
                 "--cfg=maxmin/precision:1e-9",
                 "--log=root.thresh:error"} {
    for (std::string& option : options_) {
      arguments_.push_back(option.data());
    }
    count_ = static_cast<int>(arguments_.size());
    engine_ = std::make_unique<s4u::Engine>(&count_, arguments_.data());
  }

  s4u::Engine* operator->() { return engine_.get(); }

 private:
  std::vector<std::string> options_;
  std::vector<char*> arguments_;
  int count_ = 0;
  std::unique_ptr<s4u::Engine> engine_;
};

// A case as a zone: each transfer between two hosts of its own.
struct Stage {
  std::vector<s4u::Host*> from;
  std::vector<s4u::Host*> to;
};

Stage build(const RandomCase& play, const std::string& name, const s4u::NetZone* root) {
  s4u::NetZone* zone = s4u::create_full_zone(name);
  zone->set_parent(root);
  std::vector<const s4u::Link*> links;
  for (const Link& link : play.links) {
    s4u::Link* made = zone->create_link(name + link.name, link.bandwidth);
    made->set_latency(link.latency);
    if (link.sharing == Sharing::kFatpipe) {
      made->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
    }
    links.push_back(made->seal());
  }
  Stage stage;
  for (std::size_t i = 0; i < play.transfers.size(); ++i) {
    const std::string number = name + "-" + std::to_string(i);
    stage.from.push_back(zone->create_host(number + "-from", 1e9)->seal());
    stage.to.push_back(zone->create_host(number + "-to", 1e9)->seal());
    std::vector<s4u::LinkInRoute> route;
    for (const LinkId link : play.transfers[i].route) {
      route.emplace_back(links[index(link)]);
    }
    zone->add_route(stage.from.back()->get_netpoint(),
                    stage.to.back()->get_netpoint(),
                    nullptr,
                    nullptr,
                    route,
                    false);
  }
  zone->seal();
  return stage;
}

// Plays one case after the other; when each transfer ends, in seconds since its case began.
std::vector<double> play_all(std::span<const RandomCase> cases) {
  Engine engine;
  s4u::NetZone* root = s4u::create_full_zone("root");
  std::vector<Stage> stages;
  for (const RandomCase& play : cases) {
    stages.push_back(build(play, "case" + std::to_string(stages.size()), root));
  }
  root->seal();
  std::vector<double> ends;
  s4u::Actor::create("player", stages[0].from[0], [&] {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const double begin = s4u::Engine::get_clock();
      std::vector<s4u::CommPtr> transfers;
      for (std::size_t j = 0; j < cases[i].transfers.size(); ++j) {
        s4u::this_actor::sleep_until(begin + to_seconds(cases[i].transfers[j].start));
        transfers.push_back(s4u::Comm::sendto_init(stages[i].from[j], stages[i].to[j]));
        transfers.back()
            ->set_payload_size(static_cast<std::uint64_t>(cases[i].transfers[j].bytes))
            ->start();
      }
      for (const s4u::CommPtr& transfer : transfers) {
        transfer->wait();
      }
      for (const s4u::CommPtr& transfer : transfers) {
        ends.push_back(transfer->get_finish_time() - begin);
      }
    }
  });
  engine->run();
  return ends;
}

std::vector<double> our_ends(const RandomCase& play) {
  Flows flows(play.links);
  std::map<FlowId, std::size_t> places;
  std::vector<double> ends(play.transfers.size(), -1.0);
  std::vector<FlowId> completed;
  const auto advance = [&](Time time) {
    completed.clear();
    flows.advance(time, completed);
    for (const FlowId flow : completed) {
      ends[places.at(flow)] = to_seconds(time);
    }
  };
  for (std::size_t i = 0; i < play.transfers.size(); ++i) {
    for (auto next = flows.next(); next && *next <= play.transfers[i].start; next = flows.next()) {
      advance(*next);
    }
    advance(play.transfers[i].start);
    places[flows.start(play.transfers[i].route, play.transfers[i].bytes)] = i;
  }
  while (const auto next = flows.next()) {
    advance(*next);
  }
  return ends;
}

// Relative to the transfer's duration; beside it the nanosecond to which we round.
constexpr double kTolerance = 1e-6;
constexpr double kRounding = 1e-9;

void compare(const std::vector<RandomCase>& cases) {
  for (std::size_t first = 0; first < cases.size(); first += kRunCases) {
    const std::span<const RandomCase> chunk =
        std::span(cases).subspan(first, std::min(kRunCases, cases.size() - first));
    const std::vector<double> theirs = elsewhere([&] { return play_all(chunk); });
    std::size_t place = 0;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      SCOPED_TRACE("seed " + std::to_string(first + i));
      const std::vector<double> ours = our_ends(chunk[i]);
      ASSERT_LE(place + ours.size(), theirs.size());
      for (std::size_t j = 0; j < ours.size(); ++j, ++place) {
        const double duration = theirs[place] - to_seconds(chunk[i].transfers[j].start);
        EXPECT_NEAR(ours[j], theirs[place], kTolerance * duration + kRounding) << "transfer " << j;
      }
    }
    ASSERT_EQ(place, theirs.size());
  }
}

// Random pairs of hosts of a regular cluster.
RandomCase regular_case(std::uint64_t seed) {
  struct Shape {
    const char* spec;
    ShapeOptions options;
  };
  static const std::vector<Shape> kShapes{
      {"star:latency=50us", {.hosts = 9, .bandwidth = 1.25e9}},
      {"tree:racks=3,oversubscription=2,latency=50us,uplink_latency=100us",
       {.hosts = 12, .bandwidth = 1.25e9}},
      {"tree:racks=2", {.hosts = 12, .bandwidth = 1e8}},
      {"fat-tree:latency=10us", {.hosts = 16, .bandwidth = 1.25e8}},
  };
  Rng rng(seed, 2);
  const Shape& shape = kShapes[rng.below(kShapes.size())];
  const Topology topology = make_shape(Spec::parse(shape.spec), shape.options);
  RandomCase result{.links = topology.links};
  const auto host = [&] {
    return HostId(static_cast<std::uint32_t>(rng.below(topology.hosts.size())));
  };
  for (std::uint64_t left = 5 + rng.below(30); left > 0; --left) {
    const HostId from = host();
    Transfer transfer{.bytes = 1e6 * static_cast<double>(1 + rng.below(20))};
    for (HostId to = from; transfer.route.empty(); to = host()) {
      topology.route(from, to, transfer.route);
    }
    result.transfers.push_back(transfer);
  }
  return result;
}

template <typename Make>
std::vector<RandomCase> make_cases(std::uint64_t count, Make&& make) {
  std::vector<RandomCase> cases;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    cases.push_back(make(seed));
  }
  return cases;
}

TEST(SimGrid, EndsTransfersOverRandomLinksWhenWeDo) {
  compare(make_cases(800, [](std::uint64_t seed) { return random_case(seed, false); }));
}

TEST(SimGrid, EndsTransfersOverRandomLinksAndFatpipesWhenWeDo) {
  compare(make_cases(800, [](std::uint64_t seed) { return random_case(seed, true); }));
}

TEST(SimGrid, EndsTransfersInRegularClustersWhenWeDo) {
  compare(make_cases(400, regular_case));
}

// For each way from one host to another in the file: 1 if its links have the names, bandwidths and
// latencies that ours have, in the same order; else 0.
std::vector<double> same_routes(const std::string& path, const Topology& topology) {
  Engine engine;
  engine->load_platform(path);
  std::vector<double> same;
  std::vector<LinkId> ours;
  for (std::size_t from = 0; from < topology.hosts.size(); ++from) {
    for (std::size_t to = 0; to < topology.hosts.size(); ++to) {
      topology.route(
          HostId(static_cast<std::uint32_t>(from)), HostId(static_cast<std::uint32_t>(to)), ours);
      if (from == to && ours.empty()) {
        continue;  // SimGrid has a loopback of its own for these.
      }
      std::vector<s4u::Link*> theirs;
      double latency = 0.0;
      engine->host_by_name(topology.hosts[from])
          ->route_to(engine->host_by_name(topology.hosts[to]), theirs, &latency);
      same.push_back(std::equal(
          ours.begin(), ours.end(), theirs.begin(), theirs.end(), [&](LinkId id, s4u::Link* link) {
            const Link& mine = topology.links[index(id)];
            return mine.name == link->get_name() && mine.bandwidth == link->get_bandwidth() &&
                   mine.latency == link->get_latency();
          }));
    }
  }
  return same;
}

TEST(SimGrid, FindsTheSameRoutesInAPlatformFile) {
  for (const std::string name : {"cluster.xml", "zone.xml"}) {
    const std::string path = PLATFORMS "/" + name;
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    const Topology topology = parse_platform(text.str(), name);
    const std::vector<double> same = elsewhere([&] { return same_routes(path, topology); });
    const std::size_t loops = name == "zone.xml" ? 1 : 0;
    EXPECT_EQ(same, std::vector<double>(6 + loops, 1.0)) << name;
  }
}

}  // namespace
}  // namespace outpace::links
