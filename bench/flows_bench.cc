// A thousand senders at once in a simulated cluster, in ours and in SimGrid 3.32, over the very
// same links: each sends four messages, one after the other. Prints how many times as fast ours is.
//
// SimGrid is as its users get it (optim:Lazy, its default precision), but for the model, which is
// made ours: CM02 without TCP-gamma and cross-traffic. Each sender is an actor there, which costs
// it two switches a message; the rest of its time is the sharing of the links. Its engine is one
// per process, and so the benchmarks themselves run in an actor.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <simgrid/s4u.hpp>

#include "base/rng.h"
#include "base/spec.h"
#include "links/flows.h"
#include "links/shapes.h"

namespace outpace::links {
namespace {

namespace s4u = simgrid::s4u;

constexpr std::size_t kSenders = 1000;
constexpr std::size_t kMessages = 4;

// Senders and receivers; the links lie between them.
struct Scene {
  std::string name;
  std::string shape;
  std::uint64_t hosts;
  bool to_one;  // All to the last host, like gradients to a server; else each to a random one.
};

const std::vector<Scene> kScenes{
    {"star_to_one", "star:latency=50us", 1001, true},
    {"tree_to_one", "tree:racks=16,oversubscription=8,latency=50us", 1024, true},
    {"star_random", "star:latency=50us", 200, false},
    {"tree_random", "tree:racks=16,oversubscription=4,latency=50us", 512, false},
    {"fat_tree_random", "fat-tree:latency=50us", 1024, false},
};

struct Sender {
  std::vector<LinkId> route;
  std::vector<double> bytes;
};

struct Play {
  std::vector<Link> links;
  std::vector<Sender> senders;
};

Play make_play(const Scene& scene) {
  const Topology topology =
      make_shape(Spec::parse(scene.shape), {.hosts = scene.hosts, .bandwidth = 1.25e9});
  Play play{.links = topology.links, .senders = std::vector<Sender>(kSenders)};
  Rng rng(1, 0);
  const std::size_t hosts = topology.hosts.size();
  for (std::size_t i = 0; i < kSenders; ++i) {
    const std::size_t from = i % (hosts - 1);
    const std::size_t other = rng.below(hosts - 1);
    const std::size_t to = scene.to_one ? hosts - 1 : other + (other >= from ? 1 : 0);
    topology.route(HostId(static_cast<std::uint32_t>(from)),
                   HostId(static_cast<std::uint32_t>(to)),
                   play.senders[i].route);
    for (std::size_t message = 0; message < kMessages; ++message) {
      play.senders[i].bytes.push_back(std::floor(1e6 + 9e6 * rng.uniform()));
    }
  }
  return play;
}

// Returns when the last message has come, in seconds.
double play_ours(const Play& play) {
  Flows flows(play.links);
  std::map<FlowId, std::size_t> senders;
  std::vector<std::size_t> sent(kSenders, 0);
  const auto send = [&](std::size_t sender) {
    const Sender& its = play.senders[sender];
    senders.emplace(flows.start(its.route, its.bytes[sent[sender]++]), sender);
  };
  for (std::size_t i = 0; i < kSenders; ++i) {
    send(i);
  }
  std::vector<FlowId> completed;
  while (const auto next = flows.next()) {
    completed.clear();
    flows.advance(*next, completed);
    for (const FlowId flow : completed) {
      const auto found = senders.find(flow);
      const std::size_t sender = found->second;
      senders.erase(found);
      if (sent[sender] < kMessages) {
        send(sender);
      }
    }
  }
  return to_seconds(flows.now());
}

// The same in SimGrid: a zone with two hosts for each sender, and the links between them.
class Stage {
 public:
  Stage(const Play& play, const std::string& name, const s4u::NetZone* root) : play_(play) {
    s4u::NetZone* zone = s4u::create_full_zone(name);
    zone->set_parent(root);
    std::vector<const s4u::Link*> links;
    for (const Link& link : play.links) {
      s4u::Link* made = zone->create_link(name + link.name, link.bandwidth);
      links.push_back(made->set_latency(link.latency)->seal());
    }
    for (std::size_t i = 0; i < kSenders; ++i) {
      const std::string number = name + "-" + std::to_string(i);
      from_.push_back(zone->create_host(number + "-from", 1e9)->seal());
      to_.push_back(zone->create_host(number + "-to", 1e9)->seal());
      std::vector<s4u::LinkInRoute> route;
      for (const LinkId link : play.senders[i].route) {
        route.emplace_back(links[index(link)]);
      }
      zone->add_route(
          from_[i]->get_netpoint(), to_[i]->get_netpoint(), nullptr, nullptr, route, false);
    }
    zone->seal();
  }

  double play() const {
    const double begin = s4u::Engine::get_clock();
    std::vector<s4u::ActorPtr> senders;
    for (std::size_t i = 0; i < kSenders; ++i) {
      senders.push_back(s4u::Actor::create("sender", from_[i], [this, i] {
        for (const double bytes : play_.senders[i].bytes) {
          s4u::Comm::sendto(from_[i], to_[i], static_cast<std::uint64_t>(bytes));
        }
      }));
    }
    for (const s4u::ActorPtr& sender : senders) {
      sender->join();
    }
    return s4u::Engine::get_clock() - begin;
  }

 private:
  const Play& play_;
  std::vector<s4u::Host*> from_;
  std::vector<s4u::Host*> to_;
};

// Remembers the times, to divide them in the end.
class Ratios : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      seconds_[run.run_name.function_name] =
          run.cpu_accumulated_time / static_cast<double>(run.iterations);
      ends_[run.run_name.function_name] = run.counters.at("virtual_s").value;
    }
  }
  void print() const {
    for (const Scene& scene : kScenes) {
      const auto ours = seconds_.find("ours/" + scene.name);
      const auto theirs = seconds_.find("simgrid/" + scene.name);
      if (ours != seconds_.end() && theirs != seconds_.end()) {
        std::printf("%s: %.1f times SimGrid's speed; the virtual times differ by %.1e\n",
                    scene.name.c_str(),
                    theirs->second / ours->second,
                    std::abs(ends_.at(ours->first) / ends_.at(theirs->first) - 1));
      }
    }
  }

 private:
  std::map<std::string, double> seconds_;
  std::map<std::string, double> ends_;
};

void measure(const std::string& name, const std::function<double()>& play) {
  benchmark::RegisterBenchmark(name.c_str(), [play](benchmark::State& state) {
    double end = 0.0;
    for ([[maybe_unused]] const auto ignored : state) {
      end = play();
    }
    state.counters["virtual_s"] = end;
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kSenders * kMessages));
  })->Unit(benchmark::kMillisecond);
}

}  // namespace

int run(int count, char** arguments) {
  std::vector<std::string> options{arguments[0],
                                   "--cfg=network/model:CM02",
                                   "--cfg=network/TCP-gamma:0",
                                   "--cfg=network/crosstraffic:0",
                                   "--log=root.thresh:error"};
  std::vector<char*> texts;
  for (std::string& option : options) {
    texts.push_back(option.data());
  }
  int texts_count = static_cast<int>(texts.size());
  s4u::Engine engine(&texts_count, texts.data());
  benchmark::Initialize(&count, arguments);
  s4u::NetZone* root = s4u::create_full_zone("root");
  s4u::Host* host = root->create_host("benchmarks", 1e9)->seal();
  std::vector<std::unique_ptr<Play>> plays;
  std::vector<std::unique_ptr<Stage>> stages;
  for (const Scene& scene : kScenes) {
    plays.push_back(std::make_unique<Play>(make_play(scene)));
    stages.push_back(std::make_unique<Stage>(*plays.back(), scene.name, root));
    measure("ours/" + scene.name, [play = plays.back().get()] { return play_ours(*play); });
    measure("simgrid/" + scene.name, [stage = stages.back().get()] { return stage->play(); });
  }
  root->seal();
  Ratios ratios;
  s4u::Actor::create("benchmarks", host, [&] { benchmark::RunSpecifiedBenchmarks(&ratios); });
  engine.run();
  ratios.print();
  return 0;
}

}  // namespace outpace::links

int main(int count, char** arguments) {
  return outpace::links::run(count, arguments);
}
