#include "sim/transfers.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::sim {

Transfers::Transfers(const Options& options, std::uint32_t workers)
    : options_(options), flows_(options_.topology.links), lanes_(std::size_t{2} * workers) {
  CHECK(options_.payload >= 0 && std::isfinite(options_.payload));
  std::vector<bool> taken(options_.topology.hosts.size());
  for (const network::HostId server : options_.servers) {
    CHECK(network::index(server) < taken.size() && !taken[network::index(server)]);
    taken[network::index(server)] = true;
  }
  for (std::uint32_t host = 0; hosts_.size() < workers; ++host) {
    CHECK(host < taken.size());
    if (!taken[host]) {
      hosts_.push_back(network::HostId{host});
    }
  }
}

void Transfers::send(Time now, const Message& message, bool with_payload) {
  advance(now);
  Lane& its = lane(message.way, message.worker);
  const std::size_t parts = with_payload ? options_.servers.size() : 1;
  const double bytes = with_payload ? options_.payload / static_cast<double>(parts) : 0.0;
  for (std::size_t part = 0; part < parts; ++part) {
    find_route(message.way, message.worker, options_.servers[part]);
    const network::FlowId flow = flows_.start(route_, bytes);
    if (options_.use != nullptr) {
      options_.use->started(flow, route_, bytes);
    }
    its.push_back({message, flow, part + 1 == parts});
    lanes_of_.emplace(flow, &its);
  }
}

void Transfers::cut_off(Time now, std::uint32_t worker, std::vector<Message>& out) {
  advance(now);
  if (options_.use != nullptr) {  // Before the first flow is gone: that changes all rates.
    options_.use->measure(flows_);
  }
  for (const Way way : {Way::kToServer, Way::kToWorker}) {
    Lane& its = lane(way, worker);
    for (const Waiting& waiting : its) {
      if (waiting.last) {
        out.push_back(waiting.message);
      }
      if (!waiting.complete) {
        if (options_.use != nullptr) {
          options_.use->cancelled(waiting.flow);
        }
        flows_.cancel(waiting.flow);
        lanes_of_.erase(waiting.flow);
      }
    }
    its.clear();
  }
}

std::optional<Time> Transfers::next() {
  return arrived_.empty() ? flows_.next() : flows_.now();
}

void Transfers::arrive(Time now, std::vector<Message>& out) {
  advance(now);
  out.insert(out.end(), arrived_.begin(), arrived_.end());
  arrived_.clear();
}

Duration Transfers::latency(Way way, std::uint32_t worker) {
  find_route(way, worker, options_.servers.front());
  double seconds = 0.0;
  for (const network::LinkId link : route_) {
    seconds += options_.topology.links[network::index(link)].latency;
  }
  return from_seconds(seconds);
}

void Transfers::end(Time now) {
  advance(now);
  if (options_.use != nullptr) {
    options_.use->measure(flows_);
  }
}

void Transfers::advance(Time now) {
  completed_.clear();
  if (options_.use != nullptr) {
    options_.use->advance(flows_, now, completed_);
  } else {
    flows_.advance(now, completed_);
  }
  for (const network::FlowId flow : completed_) {
    const auto found = lanes_of_.find(flow);
    Lane& its = *found->second;
    lanes_of_.erase(found);
    std::find_if(its.begin(), its.end(), [&](const Waiting& waiting) {
      return waiting.flow == flow;
    })->complete = true;
    while (!its.empty() && its.front().complete) {
      if (its.front().last) {
        arrived_.push_back(its.front().message);
      }
      its.pop_front();
    }
  }
}

Transfers::Lane& Transfers::lane(Way way, std::uint32_t worker) {
  return lanes_[std::size_t{2} * worker + (way == Way::kToServer ? 0U : 1U)];
}

void Transfers::find_route(Way way, std::uint32_t worker, network::HostId server) {
  const network::HostId its = hosts_[worker];
  if (way == Way::kToServer) {
    options_.topology.route(its, server, route_);
  } else {
    options_.topology.route(server, its, route_);
  }
}

}  // namespace outpace::sim
