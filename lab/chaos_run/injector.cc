// Tested by test/program/chaos_test.py (class Smoke).

#include "chaos_run/injector.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <utility>

namespace outpace::chaos_run {
namespace {

using chaos::Kind;
using std::chrono::steady_clock;

// As on a full disk: files are there, and no byte more.
constexpr std::uint64_t kFileBytesMost = 1024;
constexpr std::chrono::milliseconds kSlowPeriod{80};

// What may be taken without harm to others on this machine: an eighth of what is free.
std::uint64_t ballast_most_mib() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::uint64_t kib = 0;
    if (name == "MemAvailable:" && file >> kib) {
      return (kib >> 10U) / 8;
    }
  }
  return 64;
}

std::int64_t milliseconds_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

bool Injector::inject(const chaos::Fault& fault) {
  bool done = false;
  if (fault.kind == Kind::kBallast) {
    const std::uint64_t mib =
        std::min(static_cast<std::uint64_t>(fault.amount), ballast_most_mib());
    std::shared_ptr<Process> process = ballast_(mib);
    heal_later(fault, [process]() mutable { process.reset(); });
    done = true;
  } else if (Member* member = stage_.find(fault.target); member != nullptr && member->running()) {
    done = inject_on(*member, fault);
  }
  journal_.write("chaos",
                 0,
                 done ? "fault" : "skipped",
                 {{"kind", chaos::word(fault.kind)},
                  {"target", fault.target},
                  {"lasts", to_seconds(fault.lasts)},
                  {"amount", fault.amount}});
  return done;
}

bool Injector::inject_on(Member& member, const chaos::Fault& fault) {
  const std::string who = member.who;
  const std::uint32_t start = member.starts;
  FaultProxy* proxy = stage_.proxy();
  if (chaos::is_of_network(fault.kind) && proxy == nullptr) {
    return false;
  }
  switch (fault.kind) {
    case Kind::kKill:
      stage_.kill(member, fault.lasts);
      return true;
    case Kind::kStop:
      heal_later(fault, [this, who, start] { send(who, start, SIGCONT); });
      return member.process->send(SIGSTOP);
    case Kind::kSlow:
      slow(member, fault);
      return true;
    case Kind::kDisconnect:
      proxy->disconnect(stage_.link_of(who));
      return true;
    case Kind::kDelay:
      proxy->delay(stage_.link_of(who), from_seconds(fault.amount));
      heal_later(fault, [this, who] { stage_.proxy()->delay(stage_.link_of(who), {}); });
      return true;
    case Kind::kCorrupt:
      proxy->corrupt(stage_.link_of(who), static_cast<std::uint64_t>(fault.amount));
      return true;
    case Kind::kHalfOpen:
      block(fault);
      return true;
    case Kind::kDiskFull:
      heal_later(fault, [this, who, start] {
        if (Member* one = stage_.find(who); one->running() && one->starts == start) {
          one->process->limit_files(std::nullopt);
        }
      });
      return member.process->limit_files(kFileBytesMost);
    case Kind::kClockJump:
      stage_.set_clock(member, member.clock_offset + fault.amount);
      return true;
    case Kind::kBallast:
      break;
  }
  return false;
}

void Injector::block(const chaos::Fault& fault) {
  const Blocked blocked = fault.amount == 0.0   ? Blocked::kBothWays
                          : fault.amount == 1.0 ? Blocked::kFromServer
                                                : Blocked::kToServer;
  const std::size_t link = stage_.link_of(fault.target);
  stage_.proxy()->block(link, blocked);
  heal_later(fault, [this, link] { stage_.proxy()->block(link, Blocked::kNothing); });
}

void Injector::slow(Member& member, const chaos::Fault& fault) {
  const std::string who = member.who;
  const std::uint32_t start = member.starts;
  slowed_.push_back({.who = who, .start = start, .share = fault.amount});
  heal_later(fault, [this, who, start] {
    std::erase_if(slowed_, [&](const Slowed& one) { return one.who == who && one.start == start; });
    send(who, start, SIGCONT);
  });
}

void Injector::heal_later(const chaos::Fault& fault, std::function<void()> heal) {
  wounds_.push_back(
      {.fault = fault, .until = steady_clock::now() + fault.lasts, .heal = std::move(heal)});
}

void Injector::send(const std::string& who, std::uint32_t start, int signal) {
  if (Member* member = stage_.find(who); member->running() && member->starts == start) {
    member->process->send(signal);
  }
}

void Injector::tick() {
  const std::int64_t phase = milliseconds_now() % kSlowPeriod.count();
  for (Slowed& one : slowed_) {
    const bool stop = static_cast<double>(phase) < one.share * kSlowPeriod.count();
    if (stop != one.stopped) {
      one.stopped = stop;
      send(one.who, one.start, stop ? SIGSTOP : SIGCONT);
    }
  }
  const auto now = steady_clock::now();
  for (Wound& wound : wounds_) {
    if (now >= wound.until) {
      close(wound);
    }
  }
  std::erase_if(wounds_, [](const Wound& wound) { return wound.heal == nullptr; });
}

void Injector::heal_all() {
  std::ranges::for_each(wounds_, [this](Wound& wound) { close(wound); });
  wounds_.clear();
  if (FaultProxy* proxy = stage_.proxy()) {
    for (const Member& member : stage_.members()) {
      if (member.who != "server") {
        proxy->corrupt(stage_.link_of(member.who), 0);
      }
    }
  }
}

void Injector::close(Wound& wound) {
  std::exchange(wound.heal, nullptr)();
  journal_.write("chaos",
                 0,
                 "healed",
                 {{"kind", chaos::word(wound.fault.kind)}, {"target", wound.fault.target}});
}

}  // namespace outpace::chaos_run
