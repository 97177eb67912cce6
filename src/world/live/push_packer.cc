#include "live/push_packer.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "compress/pack.h"

namespace outpace::live {
namespace {

std::vector<std::size_t> ends_of(const protocol::Manifest& manifest) {
  std::vector<std::size_t> ends;
  for (const std::size_t size : manifest.sizes()) {
    ends.push_back(size + (ends.empty() ? 0 : ends.back()));
  }
  return ends;
}

bool is_gradient(const protocol::Script& script, std::size_t tensor) {
  if (script.groups.empty()) {
    return true;
  }
  const protocol::Method method = script.groups[script.group_of[tensor]].method;
  return method != protocol::Method::kAverage && method != protocol::Method::kNewest;
}

}  // namespace

PushPacker::PushPacker(std::optional<compress::Compression> own,
                       const protocol::Manifest& manifest,
                       const protocol::Script& script)
    : own_(own), ends_(ends_of(manifest)) {
  for (std::size_t tensor = 0; tensor < ends_.size(); ++tensor) {
    const bool packed = is_gradient(script, tensor);
    if (runs_.empty() || runs_.back().packed != packed) {
      runs_.push_back({.begin = begin_of(tensor), .end = 0, .packed = packed});
    }
    runs_.back().end = ends_[tensor];
  }
  if (own_) {
    settle(*own_);
  }
}

std::size_t PushPacker::begin_of(std::size_t tensor) const {
  return tensor == 0 ? 0 : ends_[tensor - 1];
}

void PushPacker::welcomed(const protocol::Welcome& welcome) {
  judged(number(unanswered_) != 0 && welcome.counted);  // Slices without a push never count.
  went_back_ = went_back_ || (generation_ != 0 && generation_ != welcome.generation);
  generation_ = welcome.generation;
  if (!own_) {
    settle(compress::Compression::parse(welcome.compress.empty() ? "none" : welcome.compress));
  }
}

void PushPacker::settle(const compress::Compression& compression) {
  if (std::exchange(compression_, compression) == compression) {
    return;
  }
  feedback_.reset();
  kept_.clear();
  if (compression.format.kind != compress::Kind::kNone) {
    feedback_.emplace(compression, ends_.back());
  }
}

void PushPacker::say_lost(WorkerId worker, Version at) const {
  if (remembers() && count(at) > 0) {
    std::fprintf(stderr,
                 "outpace: %s joins at update %s: what packing its earlier pushes left behind is "
                 "lost, if there was any\n",
                 name(worker).c_str(),
                 std::to_string(count(at)).c_str());
  }
}

void PushPacker::released(const protocol::Release& release) {
  if (!remembers()) {
    return;
  }
  if (std::exchange(went_back_, false)) {
    const auto then = std::ranges::find(kept_, release.version, &Kept::version);
    if (then != kept_.end()) {
      feedback_->go_back(then->left);
    }
    kept_.clear();
  }
  if (release.kept) {
    const std::span<const float> left = feedback_->left();
    kept_.push_back({.version = release.version, .left = {left.begin(), left.end()}});
    if (kept_.size() > kKeptMost) {
      kept_.pop_front();
    }
  }
}

std::vector<PushPacker::Part> PushPacker::pack(std::size_t begin,
                                               std::span<const float> numbers,
                                               const std::shared_ptr<const void>& keeper) {
  std::vector<Part> parts;
  const std::size_t end = begin + numbers.size();
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    const std::size_t from = std::max(run->begin, begin);
    const std::size_t to = std::min(run->end, end);
    if (from < to) {
      const auto some = numbers.subspan(from - begin, to - from);
      parts.push_back({.begin = from,
                       .payload = run->packed ? packed(from, some) : wire::Payload(some, keeper)});
    }
  }
  return parts;
}

wire::Payload PushPacker::packed(std::size_t begin, std::span<const float> numbers) {
  const compress::Format& format = feedback_->format();
  const std::size_t bytes = compress::packed_bytes(format, numbers.size());
  auto free = std::ranges::find_if(memory_, [](const auto& one) { return one.use_count() == 1; });
  if (free == memory_.end()) {
    free = memory_.insert(free, std::make_shared<std::vector<std::byte>>());
  }
  (*free)->resize(bytes);
  feedback_->pack(begin, numbers, **free);
  return {*free, protocol::Packing{.format = format, .bytes = bytes}, numbers.size()};
}

void PushPacker::pushed(Sequence release, std::vector<std::uint32_t> without) {
  unanswered_ = release;
  without_ = std::move(without);
}

void PushPacker::judged(bool counts) {
  unanswered_ = {};
  if (!feedback_) {
    return;
  }
  if (!counts) {
    return feedback_->given_up();
  }
  std::vector<compress::Feedback::Range> except;
  for (const std::uint32_t tensor : without_) {
    except.push_back({.begin = begin_of(tensor), .end = ends_[tensor]});
  }
  feedback_->accepted(except);
}

}  // namespace outpace::live
