#include "protocol/control_codec.h"

#include "protocol/field_check.h"

namespace outpace::protocol {
namespace {

void write(const Measurement& measurement, pb::Measurement& out) {
  out.set_version(count(measurement.version));
  if (measurement.accuracy) {
    out.set_accuracy(*measurement.accuracy);
  }
  if (measurement.loss) {
    out.set_loss(*measurement.loss);
  }
  for (const NamedValue& value : measurement.values) {
    pb::NamedValue& named = *out.add_values();
    named.set_name(value.name);
    named.set_value(value.value);
  }
}

}  // namespace

void write(const Measurement& measurement, pb::Frame& frame) {
  write(measurement, *frame.mutable_measurement());
}
void write(const EndRun& end, pb::Frame& frame) {
  frame.mutable_end_run()->set_protocol(end.protocol);
  frame.mutable_end_run()->set_why(clip(end.why));
}
void write(const AskEvaluated& ask, pb::Frame& frame) {
  frame.mutable_ask_evaluated()->set_protocol(ask.protocol);
  frame.mutable_ask_evaluated()->set_epoch(ask.epoch);
}
void write(const AskSeats& ask, pb::Frame& frame) {
  frame.mutable_ask_seats()->set_protocol(ask.protocol);
  frame.mutable_ask_seats()->set_host(clip(ask.host));
  frame.mutable_ask_seats()->set_workers(ask.workers);
}
void write(const Seats& seats, pb::Frame& frame) {
  pb::Seats& out = *frame.mutable_seats();
  for (const WorkerId worker : seats.workers) {
    out.add_workers(static_cast<std::uint32_t>(index(worker)));
  }
  out.set_planned(seats.planned);
  out.set_gradients(seats.gradients);
  out.set_batch(seats.batch);
  out.set_local_steps(seats.local_steps);
  out.set_steps_ahead(seats.steps_ahead);
  out.set_settings(seats.settings);
}
void write(const Expel& expel, pb::Frame& frame) {
  frame.mutable_expel()->set_protocol(expel.protocol);
  frame.mutable_expel()->set_worker(static_cast<std::uint32_t>(index(expel.worker)));
}
void write(const AskCode& ask, pb::Frame& frame) {
  frame.mutable_ask_code()->set_protocol(ask.protocol);
  frame.mutable_ask_code()->set_renew(ask.renew);
}
void write(const Evaluated& evaluated, pb::Frame& frame) {
  frame.mutable_evaluated()->set_comes(evaluated.comes);
  if (evaluated.found) {
    write(*evaluated.found, *frame.mutable_evaluated()->mutable_found());
  }
}
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
  if (status.training_loss) {
    out.set_training_loss(*status.training_loss);
  }
  out.set_now_ns(status.now.time_since_epoch().count());
  out.set_stalled(clip(status.stalled));
  out.set_staleness(clip(status.staleness));
  for (const Status::Seat& seat : status.seats) {
    out.add_seats(index(seat.worker));
    out.add_seats(seat.live ? 1 : 0);
    out.add_seats(seat.answered);
    out.add_seats(seat.counted);
  }
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
Measurement read(const pb::Measurement& measurement) {
  Measurement out{.version = Version{measurement.version()}, .accuracy = {}, .loss = {}};
  if (measurement.has_accuracy()) {
    require(measurement.accuracy() >= 0 && measurement.accuracy() <= 1,
            "measurement.accuracy",
            "must lie in [0, 1]");
    out.accuracy = measurement.accuracy();
  }
  if (measurement.has_loss()) {
    require_finite(measurement.loss(), "measurement.loss");
    out.loss = measurement.loss();
  }
  require(measurement.values_size() <= static_cast<int>(kValuesMax),
          "measurement.values",
          "are more than 256");
  for (const pb::NamedValue& value : measurement.values()) {
    require(!value.name().empty(), "measurement.values", "hold one without a name");
    require_finite(value.value(), "measurement.values");
    out.values.push_back(
        {.name = read_text(value.name(), "measurement.values"), .value = value.value()});
  }
  return out;
}
Message read(const pb::EndRun& end) {
  return EndRun{.protocol = end.protocol(), .why = read_text(end.why(), "end_run.why")};
}
Message read(const pb::AskEvaluated& ask) {
  return AskEvaluated{.protocol = ask.protocol(), .epoch = ask.epoch()};
}
Message read(const pb::AskSeats& ask) {
  require(ask.workers() >= 1 && ask.workers() <= kSeatsMax,
          "ask_seats.workers",
          "must be from 1 to 1024");
  return AskSeats{.protocol = ask.protocol(),
                  .host = read_text(ask.host(), "ask_seats.host"),
                  .workers = ask.workers()};
}
Message read(const pb::Seats& seats) {
  require(seats.workers_size() <= static_cast<int>(kSeatsMax), "seats.workers", "are too many");
  require(seats.settings().size() <= kSettingsMax, "seats.settings", "are longer than 256 KiB");
  Seats out{.workers = {},
            .planned = seats.planned(),
            .gradients = seats.gradients(),
            .batch = seats.batch(),
            .local_steps = seats.local_steps(),
            .steps_ahead = seats.steps_ahead(),
            .settings = seats.settings()};
  for (const std::uint32_t worker : seats.workers()) {
    require(worker < kWorkersMax, "seats.workers", "hold no worker's rank");
    out.workers.push_back(WorkerId{worker});
  }
  return out;
}
Message read(const pb::Expel& expel) {
  require(expel.worker() < kWorkersMax, "expel.worker", "is no worker's rank");
  return Expel{.protocol = expel.protocol(), .worker = WorkerId{expel.worker()}};
}
Message read(const pb::AskCode& ask) {
  return AskCode{.protocol = ask.protocol(), .renew = ask.renew()};
}
Message read(const pb::Evaluated& evaluated) {
  Evaluated out{.comes = evaluated.comes(), .found = {}};
  if (evaluated.has_found()) {
    out.found = read(evaluated.found());
  }
  return out;
}
Message read(const pb::Answer& answer) {
  require(answer.code() <= static_cast<std::uint32_t>(ExitCode::kUnreadable),
          "answer.code",
          "is not one that we know");
  return Answer{.code = static_cast<ExitCode>(answer.code()),
                .text = read_text(answer.text(), "answer.text")};
}
namespace {

std::vector<Status::Seat> read_seats(const pb::Status& status) {
  constexpr int kNumbers = 4;
  require(status.seats_size() % kNumbers == 0 &&
              status.seats_size() <= static_cast<int>(kSeatsMax) * kNumbers,
          "status.seats",
          "must be four numbers of each of at most 1024 workers");
  std::vector<Status::Seat> seats;
  for (int i = 0; i < status.seats_size(); i += kNumbers) {
    require(status.seats(i) < kWorkersMax, "status.seats", "hold no worker's rank");
    require(status.seats(i + 1) <= 1, "status.seats", "hold neither live nor not");
    seats.push_back({.worker = WorkerId{static_cast<std::uint32_t>(status.seats(i))},
                     .live = status.seats(i + 1) == 1,
                     .answered = status.seats(i + 2),
                     .counted = status.seats(i + 3)});
  }
  return seats;
}

}  // namespace

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
                .training_loss = status.has_training_loss() ? std::optional(status.training_loss())
                                                            : std::nullopt,
                .now = Time{Duration{status.now_ns()}},
                .stalled = read_text(status.stalled(), "status.stalled"),
                .staleness = read_text(status.staleness(), "status.staleness"),
                .seats = read_seats(status)};
}

Message read_control(const pb::Frame& frame) {
  switch (frame.kind_case()) {
    case pb::Frame::kSetPolicy:
      return read(frame.set_policy());
    case pb::Frame::kAskStatus:
      return read(frame.ask_status());
    case pb::Frame::kSlowDown:
      return read(frame.slow_down());
    case pb::Frame::kEndRun:
      return read(frame.end_run());
    case pb::Frame::kAskEvaluated:
      return read(frame.ask_evaluated());
    case pb::Frame::kAskSeats:
      return read(frame.ask_seats());
    case pb::Frame::kSeats:
      return read(frame.seats());
    case pb::Frame::kExpel:
      return read(frame.expel());
    case pb::Frame::kAskCode:
      return read(frame.ask_code());
    case pb::Frame::kEvaluated:
      return read(frame.evaluated());
    case pb::Frame::kAnswer:
      return read(frame.answer());
    case pb::Frame::kStatus:
      return read(frame.status());
    default:
      break;
  }
  throw Error(ExitCode::kFailure, "frame holds no message of control");
}

}  // namespace outpace::protocol
