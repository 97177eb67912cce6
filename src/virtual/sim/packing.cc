#include "sim/packing.h"

#include <cmath>
#include <span>
#include <utility>

#include "base/check.h"
#include "compress/pack.h"

namespace outpace::sim {
namespace {

constexpr compress::Format kDifferences{.kind = compress::Kind::kInt8};

double packed_gradient_bytes(const Packing& packing, std::size_t numbers, double payload) {
  const compress::Format& format = packing.gradients.format;
  return format.kind == compress::Kind::kNone
             ? payload
             : static_cast<double>(compress::packed_bytes(format, numbers));
}

}  // namespace

std::size_t weights_bytes(compress::WeightsKind kind, std::size_t numbers, bool newcomer) {
  using enum compress::WeightsKind;
  if (newcomer && kind == kDelta) {
    return compress::packed_weights_most(kBf16, numbers);
  }
  if (!newcomer && kind == kInt8) {
    return compress::packed_bytes(kDifferences, numbers);
  }
  return compress::packed_weights_most(kind, numbers);
}

Packer::Packer(const Packing& packing, std::uint32_t workers, double payload)
    : packing_(packing),
      payload_(payload),
      numbers_(static_cast<std::size_t>(std::ceil(payload / sizeof(float)))),
      gradient_bytes_(packed_gradient_bytes(packing, numbers_, payload)),
      workers_(packing == Packing{} ? 0 : workers) {}

void Packer::pack(WorkerId worker, Sequence release, std::vector<float>& gradient) {
  const compress::Format& format = packing_.gradients.format;
  if (format.kind == compress::Kind::kNone) {
    return;
  }
  Worker& its = workers_[index(worker)];
  CHECK(number(its.unanswered) == 0);
  if (its.feedback == nullptr) {
    its.feedback = std::make_unique<compress::Feedback>(packing_.gradients, gradient.size());
  }
  bytes_.resize(compress::packed_bytes(format, gradient.size()));
  its.feedback->pack(0, gradient, bytes_);
  compress::unpack(format, bytes_, gradient);
  its.unanswered = release;
}

Sequence Packer::unanswered(WorkerId worker) const {
  return workers_.empty() ? Sequence{} : workers_[index(worker)].unanswered;
}

void Packer::settle(WorkerId worker, bool counts) {
  if (number(unanswered(worker)) == 0) {
    return;
  }
  Worker& its = workers_[index(worker)];
  its.unanswered = {};
  if (counts) {
    its.feedback->accepted();
  } else {
    its.feedback->given_up();
  }
}

void Packer::judged(WorkerId worker, const protocol::Verdict& verdict) {
  if (verdict.sequence == unanswered(worker)) {
    settle(worker, verdict.outcome == protocol::Outcome::kAccepted);
  }
}

void Packer::started(WorkerId worker) {
  if (!workers_.empty()) {
    workers_[index(worker)] = {};
  }
}

void Packer::connected(WorkerId worker, bool counted) {
  if (workers_.empty()) {
    return;
  }
  settle(worker, counted);
  workers_[index(worker)].has.reset();
  workers_[index(worker)].newcomer = true;
}

Packer::Sent Packer::send(WorkerId worker, Weights weights) {
  Sent sent{.weights = std::move(weights), .bytes = payload_};
  if (packing_.weights != compress::WeightsKind::kNone) {
    Worker& to = workers_[index(worker)];
    if (sent.weights != nullptr) {
      sent = packed(to, sent.weights);
    } else {
      sent.bytes = static_cast<double>(weights_bytes(packing_.weights, numbers_, to.newcomer));
    }
    to.newcomer = false;
  }
  traffic_.weights.add(numbers_, static_cast<std::uint64_t>(sent.bytes));
  return sent;
}

Packer::Sent Packer::packed(Worker& to, const Weights& weights) {
  if (!last_ || last_->next != weights || last_->newcomer != to.newcomer || last_->has != to.has) {
    auto now = std::make_shared<std::vector<float>>(weights->size());
    const std::span<const float> reference =
        to.has ? std::span<const float>(*to.has) : std::span<const float>();
    const std::size_t bytes =
        compress::pack_weights(packing_.weights, reference, *weights, *now).size();
    last_ = {.has = to.has,
             .newcomer = to.newcomer,
             .next = weights,
             .sent = {.weights = std::move(now), .bytes = static_cast<double>(bytes)}};
  }
  to.has = last_->sent.weights;
  return last_->sent;
}

void Packer::received() {
  traffic_.gradients.add(numbers_, static_cast<std::uint64_t>(gradient_bytes_));
}

}  // namespace outpace::sim
