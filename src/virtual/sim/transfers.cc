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
  CHECK(options_.packet == Duration{} || (options_.window == 0.0 && options_.servers.size() == 1));
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].way = i % 2 == 0 ? Way::kToServer : Way::kToWorker;
  }
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
  send_parts(now, message, with_payload ? std::optional(options_.payload) : std::nullopt);
}

void Transfers::send_payload(Time now, const Message& message, double bytes) {
  send_parts(now, message, bytes);
}

void Transfers::send_parts(Time now, const Message& message, std::optional<double> payload) {
  advance(now);
  Lane& its = lane(message.way, message.worker);
  const std::size_t parts = payload ? options_.servers.size() : 1;
  const double bytes = payload.value_or(0.0) / static_cast<double>(parts);
  const bool is_weights = payload && message.way == Way::kToWorker;
  const bool in_pieces = is_weights && !options_.pieces.empty();
  for (std::uint32_t part = 0; part < parts; ++part) {
    const bool is_sending =
        std::ranges::any_of(its, [](const Waiting& one) { return one.in_pieces && !one.complete; });
    its.push_back({.message = message,
                   .serial = sent_++,
                   .part = part,
                   .last = part + 1 == parts,
                   .in_turn = is_weights && options_.window > 0.0,
                   .in_pieces = in_pieces,
                   .left = bytes,
                   .piece_left = in_pieces ? options_.pieces.front() : 0.0});
    if (!in_pieces || !is_sending) {
      begin(its, its.back());
    }
  }
}

void Transfers::send_bytes(Time now, const Message& message, double bytes) {
  CHECK(message.way == Way::kToServer && options_.servers.size() == 1);
  advance(now);
  Lane& its = lane(message.way, message.worker);
  its.push_back({.message = message, .serial = sent_++, .part = 0, .last = true, .left = bytes});
  begin(its, its.back());
}

void Transfers::begin(Lane& its, Waiting& waiting) {
  if (waiting.in_turn) {
    turns_[waiting.part].queue.emplace_back(&its, waiting.serial);
    next_turn(waiting.part);
    return;
  }
  const Duration wait = behind(its, waiting);
  if (wait > Duration{}) {
    held_.emplace(flows_.now() + wait, std::pair{&its, waiting.serial});
  } else {
    start(its, waiting);
  }
}

Duration Transfers::behind(const Lane& its, const Waiting& waiting) const {
  if (options_.packet == Duration{} || waiting.left <= 0.0 || its.flows > 0 ||
      its.sent == flows_.now()) {
    return {};  // Its own connection has bytes in the queue.
  }
  // The link serves the others in turn: on average half of a round is in front of it. And one
  // packet had gone out at once if the link had been idle.
  const std::uint32_t others = busy_[its.way == Way::kToServer ? 0 : 1];
  return others == 0 ? Duration{} : options_.packet + options_.packet * others / 2;
}

void Transfers::occupy(Lane& its) {
  if (its.flows++ == 0) {
    ++busy_[its.way == Way::kToServer ? 0 : 1];
  }
}

void Transfers::vacate(Lane& its) {
  its.sent = flows_.now();
  if (--its.flows == 0) {
    --busy_[its.way == Way::kToServer ? 0 : 1];
  }
}

void Transfers::begin_held(std::multimap<Time, std::pair<Lane*, std::uint64_t>>::iterator held) {
  const auto [lane, serial] = held->second;
  held_.erase(held);
  start(*lane, find(*lane, serial));
}

Transfers::Waiting& Transfers::find(Lane& its, std::uint64_t serial) {
  return *std::ranges::find_if(its, [&](const Waiting& one) { return one.serial == serial; });
}

void Transfers::start(Lane& its, Waiting& waiting) {
  double bytes = waiting.left;
  if (waiting.in_turn) {
    bytes = std::min(bytes, waiting.turn_left);
  }
  if (waiting.in_pieces) {
    const bool is_last = waiting.message.piece + 1 == options_.pieces.size();
    bytes = is_last ? bytes : std::min(bytes, waiting.piece_left);  // Sums are rounded.
  }
  find_route(waiting.message.way, waiting.message.worker, options_.servers[waiting.part]);
  waiting.left -= bytes;
  waiting.turn_left -= bytes;
  waiting.piece_left -= bytes;
  waiting.flow = flows_.start(route_, bytes);
  waiting.has_bytes = bytes > 0.0;
  if (waiting.has_bytes) {
    occupy(its);
  }
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
  Waiting& waiting = find(*its, serial);
  waiting.turn_left = options_.window;
  start(*its, waiting);
}

void Transfers::cut_off(Time now, std::uint32_t worker, std::vector<Message>& out) {
  CHECK(options_.pieces.empty());
  advance(now);
  if (options_.use != nullptr) {  // Before the first flow is gone: that changes all rates.
    options_.use->measure(flows_);
  }
  for (const Way way : {Way::kToServer, Way::kToWorker}) {
    Lane& its = lane(way, worker);
    for (Turns& turns : turns_) {
      std::erase_if(turns.queue, [&its](const auto& waiting) { return waiting.first == &its; });
    }
    std::erase_if(held_, [&its](const auto& held) { return held.second.first == &its; });
    for (const Waiting& waiting : its) {
      if (waiting.last) {
        out.push_back(waiting.message);
      }
      if (waiting.flow) {
        if (options_.use != nullptr) {
          options_.use->cancelled(*waiting.flow);
        }
        flows_.cancel(*waiting.flow);
        if (waiting.has_bytes) {
          vacate(its);
        }
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
  if (!arrived_.empty()) {
    return flows_.now();
  }
  const std::optional<Time> first = flows_.next();
  return !held_.empty() && (!first || held_.begin()->first < *first) ? held_.begin()->first : first;
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
  while (!held_.empty() && held_.begin()->first <= now) {
    const Time time = held_.begin()->first;
    advance_flows(time);
    while (!held_.empty() && held_.begin()->first <= time) {
      begin_held(held_.begin());
    }
  }
  advance_flows(now);
}

void Transfers::advance_flows(Time now) {
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
  if (waiting.has_bytes) {
    vacate(its);
  }
  waiting.complete = waiting.left <= 0.0;
  if (waiting.in_pieces && (waiting.complete || waiting.piece_left <= 0.0)) {
    arrived_.push_back(waiting.message);
    if (!waiting.complete) {
      waiting.piece_left = options_.pieces[++waiting.message.piece];
    }
  }
  const std::uint32_t part = waiting.part;
  const bool turn_ends = waiting.in_turn && (waiting.complete || waiting.turn_left <= 0.0);
  const bool next_may_go = waiting.in_pieces && waiting.complete;
  if (!waiting.complete && turn_ends) {
    turns_[part].queue.emplace_back(&its, waiting.serial);
  } else if (!waiting.complete) {
    start(its, waiting);
  }
  while (!its.empty() && its.front().complete) {
    if (its.front().last && !its.front().in_pieces) {
      arrived_.push_back(its.front().message);
    }
    its.pop_front();
  }
  if (turn_ends) {
    turns_[part].busy = false;
  }
  if (next_may_go) {
    const auto next = std::ranges::find_if(
        its, [](const Waiting& one) { return one.in_pieces && !one.complete; });
    if (next != its.end()) {
      begin(its, *next);
    }
  }
  if (turn_ends) {
    next_turn(part);
  }
  begin_first_held(its.way);
}

void Transfers::begin_first_held(Way way) {
  if (busy_[way == Way::kToServer ? 0 : 1] > 0) {
    return;
  }
  const auto first = std::ranges::find_if(
      held_, [way](const auto& held) { return held.second.first->way == way; });
  if (first != held_.end()) {  // The queue is empty.
    begin_held(first);
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
