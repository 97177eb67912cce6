#include "sim/link_use.h"

#include <algorithm>

namespace outpace::sim {
namespace {

constexpr std::size_t kValuesMost = std::size_t{1} << 19U;
constexpr std::size_t kWindowsLeast = 16;
constexpr Duration kFirstWindow = std::chrono::microseconds(1);

// Even, as windows become one in pairs.
std::size_t windows_for(std::size_t links) {
  const std::size_t pairs = kValuesMost / 2 / std::max<std::size_t>(links, 1);
  return 2 * std::clamp(pairs, kWindowsLeast / 2, LinkUse::kWindowsMost / 2);
}

}  // namespace

LinkUse::LinkUse(std::size_t links)
    : windows_(windows_for(links)), window_(kFirstWindow), bytes_(links) {}

void LinkUse::started(links::FlowId flow, std::span<const links::LinkId> route, double bytes) {
  if (bytes > 0) {
    under_way_.emplace(flow, UnderWay{{route.begin(), route.end()}, bytes});
  }
}

void LinkUse::advance(links::Flows& flows, Time now, std::vector<links::FlowId>& completed) {
  const auto advance_to = [&](Time time) {
    const std::size_t before = completed.size();
    flows.advance(time, completed);
    complete(std::span(completed).subspan(before));
    now_ = time;
  };
  while (begin_of(present_ + 1) < now) {
    advance_to(begin_of(present_ + 1));
    measure(flows);
    next_window();
  }
  advance_to(now);
}

void LinkUse::measure(links::Flows& flows) {
  for (auto& [flow, state] : under_way_) {
    count(state, flows.remaining(flow));
  }
}

std::vector<double> LinkUse::rates(links::LinkId link) const {
  const std::vector<double>& bytes = bytes_[links::index(link)];
  std::vector<double> result;
  for (std::size_t i = 0; i < bytes.size() && begin_of(i) < now_; ++i) {
    result.push_back(bytes[i] / to_seconds(std::min(window_, now_ - begin_of(i))));
  }
  return result;
}

void LinkUse::count(UnderWay& flow, double left) {
  if (left == flow.left) {  // It waits for its latency.
    return;
  }
  for (const links::LinkId link : flow.route) {
    std::vector<double>& bytes = bytes_[links::index(link)];
    bytes.resize(windows_);
    bytes[present_] += flow.left - left;
  }
  flow.left = left;
}

void LinkUse::complete(std::span<const links::FlowId> flows) {
  for (const links::FlowId flow : flows) {
    if (const auto found = under_way_.find(flow); found != under_way_.end()) {
      count(found->second, 0.0);
      under_way_.erase(found);
    }
  }
}

void LinkUse::next_window() {
  if (++present_ < windows_) {
    return;
  }
  present_ = windows_ / 2;
  window_ *= 2;
  for (std::vector<double>& bytes : bytes_) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = i < present_ ? bytes[2 * i] + bytes[2 * i + 1] : 0.0;
    }
  }
}

}  // namespace outpace::sim
