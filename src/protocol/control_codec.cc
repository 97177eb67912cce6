#include "protocol/control_codec.h"

#include "protocol/field_check.h"

namespace outpace::protocol {

void write(const SetPolicy& set, pb::Frame& frame) {
  frame.mutable_set_policy()->set_protocol(set.protocol);
  // Never cut: a shortened spec would be another policy.
  frame.mutable_set_policy()->set_policy(set.policy);
}
void write(const AskStatus& ask, pb::Frame& frame) {
  frame.mutable_ask_status()->set_protocol(ask.protocol);
}
void write(const SlowDown& slow, pb::Frame& frame) {
  frame.mutable_slow_down()->set_protocol(slow.protocol);
  frame.mutable_slow_down()->set_worker(static_cast<std::uint32_t>(index(slow.worker)));
  frame.mutable_slow_down()->set_factor(slow.factor);
}
void write(const Answer& answer, pb::Frame& frame) {
  frame.mutable_answer()->set_code(static_cast<std::uint32_t>(answer.code));
  frame.mutable_answer()->set_text(clip(answer.text));
}
void write(const Status& status, pb::Frame& frame) {
  pb::Status& out = *frame.mutable_status();
  out.set_policy(clip(status.policy));
  out.set_coming(clip(status.coming));
  out.set_version(count(status.version));
  out.set_live(status.live);
  out.set_workers(status.workers);
  out.set_staleness_mean(status.staleness_mean);
  out.set_training_loss(status.training_loss);
  out.set_now_ns(status.now.time_since_epoch().count());
  out.set_stalled(clip(status.stalled));
}

Message read(const pb::SetPolicy& set) {
  return SetPolicy{.protocol = set.protocol(),
                   .policy = read_text(set.policy(), "set_policy.policy")};
}
Message read(const pb::AskStatus& ask) {
  return AskStatus{.protocol = ask.protocol()};
}
Message read(const pb::SlowDown& slow) {
  require(slow.worker() < kWorkersMax, "slow_down.worker", "is no worker's rank");
  require_finite(slow.factor(), "slow_down.factor");
  require(slow.factor() >= 1.0 && slow.factor() <= kSlowDownMost,
          "slow_down.factor",
          "must be from 1 to 1000");
  return SlowDown{
      .protocol = slow.protocol(), .worker = WorkerId{slow.worker()}, .factor = slow.factor()};
}
Message read(const pb::Answer& answer) {
  require(answer.code() <= static_cast<std::uint32_t>(ExitCode::kUnreadable),
          "answer.code",
          "is not one that we know");
  return Answer{.code = static_cast<ExitCode>(answer.code()),
                .text = read_text(answer.text(), "answer.text")};
}
Message read(const pb::Status& status) {
  require_finite(status.staleness_mean(), "status.staleness_mean");
  require_finite(status.training_loss(), "status.training_loss");
  require(status.now_ns() >= 0, "status.now", "must not be negative");
  return Status{.policy = read_text(status.policy(), "status.policy"),
                .coming = read_text(status.coming(), "status.coming"),
                .version = Version{status.version()},
                .live = status.live(),
                .workers = status.workers(),
                .staleness_mean = status.staleness_mean(),
                .training_loss = status.training_loss(),
                .now = Time{Duration{status.now_ns()}},
                .stalled = read_text(status.stalled(), "status.stalled")};
}

}  // namespace outpace::protocol
