#include "sim/message_faults.h"

#include <algorithm>

namespace outpace::sim {
namespace {

constexpr std::uint64_t kStream = 0x6661756c7473;  // One of the seed's streams that no worker has.

std::vector<std::uint32_t> shuffled(std::vector<std::uint32_t> numbers, Rng& rng) {
  for (std::size_t left = numbers.size(); left > 1; --left) {
    std::swap(numbers[left - 1], numbers[rng.below(left)]);
  }
  return numbers;
}

}  // namespace

MessageFaults::MessageFaults(const std::vector<Fault>& faults,
                             std::uint32_t workers,
                             std::uint64_t seed)
    : links_(std::size_t{2} * workers), rng_(seed, kStream) {
  for (const Fault& fault : faults) {
    if (fault.kind == Fault::Kind::kPartition) {
      for (const WorkerId worker : fault.workers) {
        cut(worker, fault.way, {fault.at, fault.at + *fault.lasts});
      }
    } else if (fault.kind == Fault::Kind::kClog) {
      clog(fault, workers);
    } else if (!befalls_worker(fault.kind)) {
      of_messages_.push_back(fault);
    }
  }
}

void MessageFaults::cut(WorkerId worker, Fault::Way way, Cut cut) {
  if (way != Fault::Way::kToWorker) {
    links_[2 * index(worker)].push_back(cut);
    ++counts_.cut;
  }
  if (way != Fault::Way::kToServer) {
    links_[2 * index(worker) + 1].push_back(cut);
    ++counts_.cut;
  }
}

// FoundationDB's swizzle: cut one by one, mended one by one in an order of its own.
void MessageFaults::clog(const Fault& fault, std::uint32_t workers) {
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    if (rng_.uniform() < fault.probability) {
      chosen.push_back(worker);
    }
  }
  chosen = shuffled(std::move(chosen), rng_);
  std::vector<std::uint32_t> places(chosen.size());
  for (std::uint32_t place = 0; place < places.size(); ++place) {
    places[place] = place;
  }
  const std::vector<std::uint32_t> mended = shuffled(std::move(places), rng_);
  for (std::uint32_t place = 0; place < chosen.size(); ++place) {
    const Time from = fault.at + place * fault.by;
    const Time until = fault.at + *fault.lasts + mended[place] * fault.by;
    if (from < until) {
      cut(WorkerId{chosen[place]}, Fault::Way::kBoth, {from, until});
    }
  }
}

MessageFaults::Passage MessageFaults::pass(WorkerId worker, Way way, const Sent& sent) {
  Passage passage{.arrival = sent.arrives, .again = std::nullopt};
  for (const Fault& fault : of_messages_) {
    if (!strikes(fault, sent)) {
      continue;
    }
    if (fault.kind == Fault::Kind::kDelay) {
      passage.arrival += fault.by;
      ++counts_.delayed;
    } else if (fault.kind == Fault::Kind::kLose) {
      passage.lost = true;
      ++counts_.lost;
    } else if (fault.kind == Fault::Kind::kDuplicate) {
      passage.again = sent.arrives + some(fault.by);
      ++counts_.duplicated;
    } else {
      passage.arrival += some(fault.by);
      passage.overtaken = true;
      ++counts_.reordered;
    }
  }
  const Time reached = std::exchange(passage.arrival, open(worker, way, passage.arrival));
  counts_.held += passage.arrival > reached ? 1U : 0U;
  if (passage.again) {
    passage.again = open(worker, way, std::max(*passage.again, passage.arrival));
  }
  return passage;
}

Time MessageFaults::open(WorkerId worker, Way way, Time time) const {
  if (counts_.cut == 0) {
    return time;  // Without a look at one of a hundred thousand links.
  }
  const Link& cuts = link(worker, way);
  for (bool moved = true; moved;) {  // The end of one cut may lie within another.
    moved = false;
    for (const Cut& cut : cuts) {
      if (cut.from <= time && time < cut.until) {
        time = cut.until;
        moved = true;
      }
    }
  }
  return time;
}

bool MessageFaults::strikes(const Fault& fault, const Sent& sent) {
  const bool strays = fault.kind == Fault::Kind::kDuplicate || fault.kind == Fault::Kind::kReorder;
  return fault.at <= sent.at && sent.at < fault.at + *fault.lasts && (sent.may_stray || !strays) &&
         rng_.uniform() < fault.probability;
}

Duration MessageFaults::some(Duration most) {
  return Duration{
      static_cast<Duration::rep>(rng_.below(static_cast<std::uint64_t>(most.count()) + 1))};
}

}  // namespace outpace::sim
