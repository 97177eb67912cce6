#include "protocol/message_writer.h"

#include <string>
#include <type_traits>
#include <variant>

#include "protocol/control_codec.h"

namespace outpace::protocol {
namespace {

std::string write(const Manifest& manifest) {
  pb::Manifest out;
  for (const TensorInfo& tensor : manifest.tensors) {
    pb::TensorInfo& info = *out.add_tensors();
    info.set_name(tensor.name);
    info.mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  }
  return out.SerializeAsString();
}

void write(const GradientId& id, pb::GradientId& out) {
  out.set_job(id.job);
  out.set_generation(id.generation);
  out.set_worker(static_cast<std::uint32_t>(id.worker));
  out.set_incarnation(id.incarnation);
  out.set_sequence(number(id.sequence));
}

void write(const Script& script, pb::Script& out) {
  for (const ParameterGroup& group : script.groups) {
    out.add_methods(static_cast<std::uint32_t>(group.method) + 1);
    for (const double setting : {group.rate,
                                 group.weight_decay,
                                 group.momentum,
                                 group.beta1,
                                 group.beta2,
                                 group.epsilon,
                                 group.rate_decay,
                                 group.initial}) {
      out.add_settings(setting);
    }
  }
  out.mutable_group_of()->Add(script.group_of.begin(), script.group_of.end());
  out.set_epochs(script.epochs);
}

void write(const Hello& hello, pb::Frame& frame) {
  pb::Hello& out = *frame.mutable_hello();
  out.set_protocol(hello.protocol);
  out.set_worker(static_cast<std::uint32_t>(hello.worker));
  out.set_process(hello.process);
  out.set_host(clip(hello.host));
  out.set_dataset_examples(hello.dataset_examples);
  out.set_manifest(write(hello.manifest));
  out.set_seen_job(hello.seen_job);
  out.set_seen_version(count(hello.seen_version));
  if (hello.script != Script{}) {
    write(hello.script, *out.mutable_script());
  }
  out.set_wants_evaluator(hello.wants_evaluator);
  out.set_ahead(hello.ahead);
  out.set_steps_locally(hello.steps_locally);
  out.set_local_steps(hello.local_steps);
  out.set_unanswered(number(hello.unanswered));
  if (hello.stands_for > 1) {
    out.set_stands_for(hello.stands_for);
  }
}
void write(const Observe& observe, pb::Frame& frame) {
  frame.mutable_observe()->set_protocol(observe.protocol);
  frame.mutable_observe()->set_manifest(write(observe.manifest));
}
void write(const InitialWeights& /*nothing*/, pb::Frame& frame) {
  frame.mutable_initial_weights();
}
void write(const Constants& constants, pb::Frame& frame) {
  pb::Constants& out = *frame.mutable_constants();
  out.set_begin(constants.begin);
  out.set_whole(constants.whole);
  out.set_bytes(constants.bytes);
}
void write(const OptimizerState& state, pb::Frame& frame) {
  pb::OptimizerState& out = *frame.mutable_optimizer_state();
  out.set_tensor(state.tensor);
  out.set_updates(state.updates);
  out.set_part(state.part);
}
void write(const Push& push, pb::Frame& frame) {
  pb::Push& out = *frame.mutable_push();
  write(push.id, *out.mutable_id());
  out.set_examples(push.examples);
  out.set_partial(push.partial);
  if (push.loss) {
    out.set_loss(*push.loss);
  }
  out.set_compute_seconds(push.compute_seconds);
  out.mutable_without()->Add(push.without.begin(), push.without.end());
  for (const Range& range : push.covers) {
    out.add_covers(range.epoch);
    out.add_covers(range.begin);
    out.add_covers(range.end);
  }
  if (push.stands_for > 0) {
    out.set_stands_for(push.stands_for);
  }
}
void write(const Slice& slice, pb::Frame& frame) {
  pb::Slice& out = *frame.mutable_slice();
  out.set_sequence(number(slice.sequence));
  out.set_begin(slice.begin);
  out.set_whole(slice.whole);
}
void write(const Abandoned& abandoned, pb::Frame& frame) {
  write(abandoned.id, *frame.mutable_abandoned()->mutable_id());
  frame.mutable_abandoned()->set_why(static_cast<std::uint32_t>(abandoned.why));
}
void write(const Rates& rates, pb::Frame& frame) {
  frame.mutable_rates()->set_epoch(rates.epoch);
  frame.mutable_rates()->mutable_rates()->Add(rates.rates.begin(), rates.rates.end());
}
void write(const AskEvaluator& /*nothing*/, pb::Frame& frame) {
  frame.mutable_ask_evaluator();
}
void write(const Heartbeat& /*nothing*/, pb::Frame& frame) {
  frame.mutable_heartbeat();
}
void write(const Goodbye& /*nothing*/, pb::Frame& frame) {
  frame.mutable_goodbye();
}
void write(const Welcome& welcome, pb::Frame& frame) {
  pb::Welcome& out = *frame.mutable_welcome();
  out.set_job(welcome.job);
  out.set_generation(welcome.generation);
  out.set_needs_weights(welcome.needs_weights);
  out.set_heartbeat_ns(welcome.heartbeat.count());
  out.set_seed(welcome.seed);
  out.set_with_replacement(welcome.with_replacement);
  out.set_incarnation(welcome.incarnation);
  out.set_inner_optimizer(welcome.inner_optimizer);
  out.set_inner_weight_decay(welcome.inner_weight_decay);
  out.set_compress(welcome.compress);
  out.set_counted(welcome.counted);
  out.set_above(welcome.above);
  out.set_now_ns(welcome.now.time_since_epoch().count());
  out.set_newcomer(welcome.newcomer);
}
void write(const Release& release, pb::Frame& frame) {
  pb::Release& out = *frame.mutable_release();
  out.set_sequence(number(release.sequence));
  out.set_version(count(release.version));
  out.set_nominal(release.nominal);
  out.set_may_keep_part(release.may_keep_part);
  out.set_now_ns(release.now.time_since_epoch().count());
  out.set_inner_rate(release.inner_rate);
  out.set_kept(release.kept);
  for (const Range& range : release.ranges) {
    out.add_ranges(range.epoch);
    out.add_ranges(range.begin);
    out.add_ranges(range.end);
  }
  for (std::uint64_t lease = 0; lease < release.ahead.size(); ++lease) {
    for (const Range& range : release.ahead[lease]) {
      for (const std::uint64_t number : {lease, range.epoch, range.begin, range.end}) {
        out.add_ahead(number);
      }
    }
  }
}
void write(const Cancel& cancel, pb::Frame& frame) {
  frame.mutable_cancel()->set_sequence(number(cancel.sequence));
  frame.mutable_cancel()->set_keep_part(cancel.keep_part);
}
// 0 on the wire means that the field is absent, so our values start at 1.
void write(const Verdict& verdict, pb::Frame& frame) {
  pb::Verdict& out = *frame.mutable_verdict();
  out.set_sequence(number(verdict.sequence));
  out.set_outcome(static_cast<pb::Outcome>(static_cast<int>(verdict.outcome) + 1));
  if (verdict.why) {
    out.set_why(clip(*verdict.why));
  }
}
void write(const Snapshot& snapshot, pb::Frame& frame) {
  frame.mutable_snapshot()->set_version(count(snapshot.version));
}
void write(const Stop& stop, pb::Frame& frame) {
  frame.mutable_stop()->set_how(static_cast<pb::Farewell>(static_cast<int>(stop.how) + 1));
  frame.mutable_stop()->set_why(clip(stop.why));
}
void write(const PeerPlace& place, pb::PeerPlace& out) {
  for (const std::string& address : place.addresses) {
    out.add_addresses(address);
  }
  out.set_certificate(place.certificate);
}
void write(const Standing& standing, pb::Frame& frame) {
  pb::Standing& out = *frame.mutable_standing();
  out.set_generation(standing.generation);
  out.set_version(count(standing.version));
  out.set_newcomer(standing.newcomer);
  write(standing.place, *out.mutable_place());
}
void write(const Regroup& regroup, pb::Frame& frame) {
  frame.mutable_regroup()->set_generation(regroup.generation);
  frame.mutable_regroup()->set_key(regroup.key);
}
void write(const Group& group, pb::Frame& frame) {
  pb::Group& out = *frame.mutable_group();
  out.set_generation(group.generation);
  out.set_version(count(group.version));
  for (const WorkerId member : group.members) {
    out.add_members(static_cast<std::uint32_t>(member));
  }
  out.set_ahead(static_cast<std::uint32_t>(group.ahead));
  for (const WorkerId worker : group.behind) {
    out.add_behind(static_cast<std::uint32_t>(worker));
  }
  for (const WorkerId worker : group.newcomers) {
    out.add_newcomers(static_cast<std::uint32_t>(worker));
  }
  for (const PeerPlace& place : group.places) {
    write(place, *out.add_places());
  }
}

}  // namespace

void write(const Message& message, pb::Frame& frame) {
  std::visit([&frame](const auto& kind) { write(kind, frame); }, message);
}

}  // namespace outpace::protocol
