#include "sim/transfers.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace outpace::sim {

Transfers::Transfers(const Options& options, std::uint32_t workers)
    : options_(options),
      flows_(options_.topology.links),
      lanes_(std::size_t{2} * workers),
      turns_(options_.servers.size()) {
  CHECK(options_.payload >= 0 && std::isfinite(options_.payload));
  std::vector<bool> taken(options_.topology.hosts.size());
  for (const links::HostId server : options_.servers) {
    CHECK(links::index(server) < taken.size() && !taken[links::index(server)]);
    taken[links::index(server)] = true;
  }
  for (std::uint32_t host = 0; hosts_.size() < workers; ++host) {
    CHECK(host < taken.size());
    if (!taken[host]) {
      hosts_.push_back(links::HostId{host});
    }
  }
}

void Transfers::send(Time now, const Message& message, bool with_payload) {
  advance(now);
  Lane& its = lane(message.way, message.worker);
  const std::size_t parts = with_payload ? options_.servers.size() : 1;
  const double bytes = with_payload ? options_.payload / static_cast<double>(parts) : 0.0;
  const bool in_turn = with_payload && message.way == Way::kToWorker && options_.window > 0.0;
  for (std::uint32_t part = 0; part < parts; ++part) {
    its.push_back({.message = message,
                   .serial = sent_++,
                   .part = part,
                   .last = part + 1 == parts,
                   .in_turn = in_turn,
                   .left = bytes});
    if (in_turn) {
      turns_[part].queue.emplace_back(&its, its.back().serial);
      next_turn(part);
    } else {
      start(its, its.back(), bytes);
    }
  }
}

void Transfers::start(Lane& its, Waiting& waiting, double bytes) {
  find_route(waiting.message.way, waiting.message.worker, options_.servers[waiting.part]);
  waiting.left -= bytes;
  waiting.flow = flows_.start(route_, bytes);
  if (options_.use != nullptr) {
    options_.use->started(*waiting.flow, route_, bytes);
  }
  lanes_of_.emplace(*waiting.flow, &its);
}

void Transfers::next_turn(std::uint32_t part) {
  Turns& turns = turns_[part];
  if (turns.busy || turns.queue.empty()) {
    return;
  }
  Lane* const its = turns.queue.front().first;
  const std::uint64_t serial = turns.queue.front().second;
  turns.queue.pop_front();
  turns.busy = true;
  Waiting& waiting = *std::find_if(
      its->begin(), its->end(), [&](const Waiting& one) { return one.serial == serial; });
  start(*its, waiting, std::min(options_.window, waiting.left));
}

void Transfers::cut_off(Time now, std::uint32_t worker, std::vector<Message>& out) {
  advance(now);
  if (options_.use != nullptr) {  // Before the first flow is gone: that changes all rates.
    options_.use->measure(flows_);
  }
  for (const Way way : {Way::kToServer, Way::kToWorker}) {
    Lane& its = lane(way, worker);
    for (Turns& turns : turns_) {
      std::erase_if(turns.queue, [&its](const auto& waiting) { return waiting.first == &its; });
    }
    for (const Waiting& waiting : its) {
      if (waiting.last) {
        out.push_back(waiting.message);
      }
      if (waiting.flow) {
        if (options_.use != nullptr) {
          options_.use->cancelled(*waiting.flow);
        }
        flows_.cancel(*waiting.flow);
        lanes_of_.erase(*waiting.flow);
        turns_[waiting.part].busy = turns_[waiting.part].busy && !waiting.in_turn;
      }
    }
    its.clear();
  }
  for (std::uint32_t part = 0; part < turns_.size(); ++part) {
    next_turn(part);
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
  for (const links::LinkId link : route_) {
    seconds += options_.topology.links[links::index(link)].latency;
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
  for (const links::FlowId flow : completed_) {
    flow_completed(flow);
  }
}

void Transfers::flow_completed(links::FlowId flow) {
  const auto found = lanes_of_.find(flow);
  Lane& its = *found->second;
  lanes_of_.erase(found);
  Waiting& waiting =
      *std::find_if(its.begin(), its.end(), [&](const Waiting& one) { return one.flow == flow; });
  waiting.flow.reset();
  waiting.complete = waiting.left <= 0.0;
  const std::uint32_t part = waiting.part;
  const bool in_turn = waiting.in_turn;
  if (!waiting.complete) {
    turns_[part].queue.emplace_back(&its, waiting.serial);
  }
  while (!its.empty() && its.front().complete) {
    if (its.front().last) {
      arrived_.push_back(its.front().message);
    }
    its.pop_front();
  }
  if (in_turn) {
    turns_[part].busy = false;
    next_turn(part);
  }
}

Transfers::Lane& Transfers::lane(Way way, std::uint32_t worker) {
  return lanes_[std::size_t{2} * worker + (way == Way::kToServer ? 0U : 1U)];
}

void Transfers::find_route(Way way, std::uint32_t worker, links::HostId server) {
  const links::HostId its = hosts_[worker];
  if (way == Way::kToServer) {
    options_.topology.route(its, server, route_);
  } else {
    options_.topology.route(server, its, route_);
  }
}

}  // namespace outpace::sim
