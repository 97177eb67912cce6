#include "protocol/codec.h"

#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <outpace.pb.h>

#include "base/check.h"
#include "base/error.h"
#include "protocol/control_codec.h"
#include "protocol/field_check.h"

namespace outpace::protocol {
namespace {

using google::protobuf::io::CodedInputStream;

// A field's number and type on the wire.
constexpr std::uint8_t tag(int field, int type) {
  return static_cast<std::uint8_t>(field << 3 | type);
}
constexpr int kLength = 2;
constexpr std::uint8_t kTensorTag = tag(pb::Manifest::kTensorsFieldNumber, kLength);
// A name, a shape, and room for future fields.
constexpr int kTensorBytesMax = 2 * static_cast<int>(kTextMax);

// ---- Writing ----------------------------------------------------------------------------------

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

// 0 on the wire means that the field is absent, so our values start at 1.
void write(const Script& script, pb::Script& out) {
  for (const ParameterGroup& group : script.groups) {
    out.add_methods(static_cast<std::uint32_t>(group.method) + 1);
    for (const double setting : {group.rate,
                                 group.weight_decay,
                                 group.momentum,
                                 group.beta1,
                                 group.beta2,
                                 group.epsilon}) {
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
}
void write(const Observe& observe, pb::Frame& frame) {
  frame.mutable_observe()->set_protocol(observe.protocol);
  frame.mutable_observe()->set_manifest(write(observe.manifest));
}
void write(const InitialWeights& /*nothing*/, pb::Frame& frame) {
  frame.mutable_initial_weights();
}
void write(const Push& push, pb::Frame& frame) {
  pb::Push& out = *frame.mutable_push();
  write(push.id, *out.mutable_id());
  out.set_examples(push.examples);
  out.set_partial(push.partial);
  out.set_loss(push.loss);
  out.set_compute_seconds(push.compute_seconds);
}
void write(const Abandoned& abandoned, pb::Frame& frame) {
  write(abandoned.id, *frame.mutable_abandoned()->mutable_id());
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
void write(const Measurement& measurement, pb::Frame& frame) {
  pb::Measurement& out = *frame.mutable_measurement();
  out.set_version(count(measurement.version));
  out.set_accuracy(measurement.accuracy);
  out.set_loss(measurement.loss);
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
}
void write(const Release& release, pb::Frame& frame) {
  pb::Release& out = *frame.mutable_release();
  out.set_sequence(number(release.sequence));
  out.set_version(count(release.version));
  out.set_nominal(release.nominal);
  out.set_may_keep_part(release.may_keep_part);
  out.set_now_ns(release.now.time_since_epoch().count());
  for (const Range& range : release.ranges) {
    out.add_ranges(range.epoch);
    out.add_ranges(range.begin);
    out.add_ranges(range.end);
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
// ---- Reading ----------------------------------------------------------------------------------

WorkerId read_worker(std::uint32_t worker, std::string_view field) {
  require(worker < kWorkersMax, field, "must be below 65536");
  return WorkerId{worker};
}

TensorInfo read_tensor(CodedInputStream& in, const std::string& field) {
  int length = 0;
  require(in.ReadVarintSizeAsInt(&length), field, "is malformed");
  require(length <= kTensorBytesMax, field, "holds a tensor of more than 2048 bytes");
  const CodedInputStream::Limit limit = in.PushLimit(length);
  pb::TensorInfo tensor;
  require(tensor.ParseFromCodedStream(&in), field, "is malformed");
  require(in.BytesUntilLimit() == 0, field, "is malformed");
  in.PopLimit(limit);

  require(!tensor.name().empty(), field, "holds a tensor without a name");
  TensorInfo info{.name = read_name(tensor.name(), field + ".name"),
                  .shape = {tensor.shape().begin(), tensor.shape().end()}};
  require(info.shape.size() <= kTensorRankMax, field, "holds a tensor of rank above 16");
  for (const std::uint64_t extent : info.shape) {
    require(extent >= 1, field, "holds a tensor with an extent of 0");
  }
  return info;
}

Manifest read_manifest(const std::string& bytes, const std::string& field) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  Manifest manifest;
  std::set<std::string> names;
  while (const std::uint32_t next = in.ReadTag()) {
    require(next == kTensorTag, field, "is malformed");
    require(manifest.tensors.size() < kTensorsMax, field, "has more than 65536 tensors");
    manifest.tensors.push_back(read_tensor(in, field));
    require(names.insert(manifest.tensors.back().name).second, field, "names a tensor twice");
  }
  require(in.ConsumedEntireMessage(), field, "is malformed");
  require(!manifest.tensors.empty(), field, "has no tensors");
  require(manifest.numbers() <= kWeightsMax, field, "has more than 2^32 numbers");
  return manifest;
}

GradientId read_id(bool given, const pb::GradientId& id, const std::string& field) {
  require(given, field, "is missing");
  return {.job = id.job(),
          .generation = id.generation(),
          .worker = read_worker(id.worker(), field + ".worker"),
          .incarnation = id.incarnation(),
          .sequence = Sequence{id.sequence()}};
}

double read_setting(double setting, std::string_view field) {
  require(std::isfinite(setting) && setting >= 0, field, "must be finite and at least 0");
  return setting;
}

Script read_script(const pb::Script& script, std::size_t tensors) {
  constexpr int kSettings = 6;
  const int groups = script.methods_size();
  require(groups <= static_cast<int>(kGroupsMax), "hello.script", "has more than 4096 groups");
  require(script.settings_size() == kSettings * groups,
          "hello.script.settings",
          "must be six of each group");
  require(static_cast<std::size_t>(script.group_of_size()) == (groups == 0 ? 0 : tensors),
          "hello.script.group_of",
          "must name a group for each tensor");
  Script out{.groups = {}, .group_of = {}, .epochs = script.epochs()};
  for (int i = 0; i < groups; ++i) {
    const std::uint32_t method = script.methods(i);
    require(method >= 1 && method <= static_cast<std::uint32_t>(Method::kAverage) + 1,
            "hello.script.methods",
            "hold one that we do not know");
    const auto setting = [&](int which) {
      return read_setting(script.settings(kSettings * i + which), "hello.script.settings");
    };
    out.groups.push_back({.method = static_cast<Method>(method - 1),
                          .rate = setting(0),
                          .weight_decay = setting(1),
                          .momentum = setting(2),
                          .beta1 = setting(3),
                          .beta2 = setting(4),
                          .epsilon = setting(5)});
  }
  for (const std::uint32_t group : script.group_of()) {
    require(group < out.groups.size(), "hello.script.group_of", "names a group that is not there");
    out.group_of.push_back(group);
  }
  return out;
}

Message read(const pb::Hello& hello) {
  require(hello.dataset_examples() >= 1, "hello.dataset_examples", "must be at least 1");
  Hello out{.protocol = hello.protocol(),
            .worker = read_worker(hello.worker(), "hello.worker"),
            .process = hello.process(),
            .host = read_text(hello.host(), "hello.host"),
            .dataset_examples = hello.dataset_examples(),
            .manifest = read_manifest(hello.manifest(), "hello.manifest"),
            .seen_job = hello.seen_job(),
            .seen_version = Version{hello.seen_version()},
            .wants_evaluator = hello.wants_evaluator()};
  out.script = read_script(hello.script(), out.manifest.tensors.size());
  return out;
}
Message read(const pb::Rates& rates) {
  require(rates.rates_size() >= 1, "rates.rates", "must not be empty");
  require(rates.rates_size() <= static_cast<int>(kGroupsMax), "rates.rates", "are more than 4096");
  Rates out{.epoch = rates.epoch(), .rates = {}};
  for (const double rate : rates.rates()) {
    out.rates.push_back(read_setting(rate, "rates.rates"));
  }
  return out;
}
Message read(const pb::Observe& observe) {
  return Observe{.protocol = observe.protocol(),
                 .manifest = read_manifest(observe.manifest(), "observe.manifest")};
}
Message read(const pb::Push& push) {
  require(push.examples() >= 1, "push.examples", "must be at least 1");
  require_finite(push.loss(), "push.loss");
  require_finite(push.compute_seconds(), "push.compute_seconds");
  require(push.compute_seconds() >= 0, "push.compute_seconds", "must not be negative");
  return Push{.id = read_id(push.has_id(), push.id(), "push.id"),
              .examples = push.examples(),
              .partial = push.partial(),
              .loss = push.loss(),
              .compute_seconds = push.compute_seconds()};
}
Message read(const pb::Abandoned& abandoned) {
  return Abandoned{.id = read_id(abandoned.has_id(), abandoned.id(), "abandoned.id")};
}
Message read(const pb::Measurement& measurement) {
  const double accuracy = measurement.accuracy();
  require(accuracy >= 0 && accuracy <= 1, "measurement.accuracy", "must lie in [0, 1]");
  require_finite(measurement.loss(), "measurement.loss");
  return Measurement{
      .version = Version{measurement.version()}, .accuracy = accuracy, .loss = measurement.loss()};
}
Message read(const pb::Welcome& welcome) {
  require(welcome.heartbeat_ns() >= 1, "welcome.heartbeat", "must be above 0");
  require(welcome.incarnation() >= 1, "welcome.incarnation", "must be at least 1");
  return Welcome{.job = welcome.job(),
                 .generation = welcome.generation(),
                 .needs_weights = welcome.needs_weights(),
                 .heartbeat = Duration{welcome.heartbeat_ns()},
                 .seed = welcome.seed(),
                 .with_replacement = welcome.with_replacement(),
                 .incarnation = welcome.incarnation()};
}
Message read(const pb::Release& release) {
  require(release.nominal() >= 1, "release.nominal", "must be at least 1");
  require(release.now_ns() >= 0, "release.now", "must not be negative");
  const google::protobuf::RepeatedField<std::uint64_t>& positions = release.ranges();
  const auto thirds = static_cast<std::size_t>(positions.size());
  require(thirds % 3 == 0, "release.ranges", "must be triples");
  require(thirds >= 3, "release.ranges", "must not be empty");
  require(thirds / 3 <= kRangesMax, "release.ranges", "are more than 4096");
  Release out{.sequence = Sequence{release.sequence()},
              .version = Version{release.version()},
              .nominal = release.nominal(),
              .may_keep_part = release.may_keep_part(),
              .now = Time{Duration{release.now_ns()}},
              .ranges = {}};
  out.ranges.reserve(thirds / 3);
  std::uint64_t left = UINT32_MAX;  // A push counts its examples in 32 bits.
  for (int i = 0; i < positions.size(); i += 3) {
    const Range range{.epoch = positions[i], .begin = positions[i + 1], .end = positions[i + 2]};
    require(range.begin < range.end, "release.ranges", "hold one that is empty");
    require(range.size() <= left, "release.ranges", "hold more than 2^32 - 1 examples");
    left -= range.size();
    out.ranges.push_back(range);
  }
  return out;
}
Message read(const pb::Cancel& cancel) {
  return Cancel{.sequence = Sequence{cancel.sequence()}, .keep_part = cancel.keep_part()};
}
Message read(const pb::Verdict& verdict) {
  const int outcome = verdict.outcome();
  require(outcome >= 1 && outcome <= 3, "verdict.outcome", "is not one that we know");
  Verdict out{.sequence = Sequence{verdict.sequence()},
              .outcome = static_cast<Outcome>(outcome - 1),
              .why = {}};
  if (!verdict.why().empty()) {
    out.why = read_text(verdict.why(), "verdict.why");
  }
  return out;
}
Message read(const pb::Stop& stop) {
  const int how = stop.how();
  require(how >= pb::FAREWELL_FINISHED && how <= pb::FAREWELL_PRESUMED_DEAD,
          "stop.how",
          "is not one that we know");
  return Stop{.how = static_cast<Farewell>(how - 1), .why = read_text(stop.why(), "stop.why")};
}
Message read(const pb::Frame& frame) {
  switch (frame.kind_case()) {
    case pb::Frame::kHello:
      return read(frame.hello());
    case pb::Frame::kObserve:
      return read(frame.observe());
    case pb::Frame::kInitialWeights:
      return InitialWeights{};
    case pb::Frame::kPush:
      return read(frame.push());
    case pb::Frame::kAbandoned:
      return read(frame.abandoned());
    case pb::Frame::kHeartbeat:
      return Heartbeat{};
    case pb::Frame::kGoodbye:
      return Goodbye{};
    case pb::Frame::kMeasurement:
      return read(frame.measurement());
    case pb::Frame::kWelcome:
      return read(frame.welcome());
    case pb::Frame::kRelease:
      return read(frame.release());
    case pb::Frame::kCancel:
      return read(frame.cancel());
    case pb::Frame::kVerdict:
      return read(frame.verdict());
    case pb::Frame::kSnapshot:
      return Snapshot{.version = Version{frame.snapshot().version()}};
    case pb::Frame::kStop:
      return read(frame.stop());
    case pb::Frame::kSetPolicy:
      return protocol::read(frame.set_policy());
    case pb::Frame::kAskStatus:
      return protocol::read(frame.ask_status());
    case pb::Frame::kAnswer:
      return protocol::read(frame.answer());
    case pb::Frame::kStatus:
      return protocol::read(frame.status());
    case pb::Frame::kRates:
      return read(frame.rates());
    case pb::Frame::kAskEvaluator:
      return AskEvaluator{};
    case pb::Frame::KIND_NOT_SET:
      break;
  }
  throw Error(ExitCode::kFailure, "frame holds no message that we know");
}

}  // namespace

const char* name(const Message& message) {
  static constexpr std::array<const char*, std::variant_size_v<Message>> kNames = {
      "hello",      "observe", "initial_weights", "push",    "abandoned",
      "heartbeat",  "goodbye", "measurement",     "welcome", "release",
      "cancel",     "verdict", "snapshot",        "stop",    "set_policy",
      "ask_status", "answer",  "status",          "rates",   "ask_evaluator"};
  return kNames.at(message.index());
}

bool carries_payload(const Message& message) {
  return std::holds_alternative<InitialWeights>(message) || std::holds_alternative<Push>(message) ||
         std::holds_alternative<Release>(message) || std::holds_alternative<Snapshot>(message);
}

std::string encode(const Message& message, std::uint64_t payload_numbers) {
  CHECK(payload_numbers == 0 || carries_payload(message));
  pb::Frame frame;
  std::visit([&frame](const auto& kind) { write(kind, frame); }, message);
  frame.set_payload_numbers(payload_numbers);
  if (frame.ByteSizeLong() > kFrameBytesMax) {
    throw usage_error(std::string(name(message)) + " takes " +
                      std::to_string(frame.ByteSizeLong()) +
                      " bytes and a frame at most 8 MiB; use fewer tensors or shorter names");
  }
  return frame.SerializeAsString();
}

Frame decode(std::string_view frame) {
  require(frame.size() <= kFrameBytesMax, "frame", "takes more than 8 MiB");
  pb::Frame parsed;
  require(
      parsed.ParseFromArray(frame.data(), static_cast<int>(frame.size())), "frame", "is malformed");
  Frame out{.message = read(parsed), .payload_numbers = parsed.payload_numbers()};
  require(out.payload_numbers == 0 || carries_payload(out.message),
          name(out.message),
          "must not have a payload");
  require(
      out.payload_numbers <= kWeightsMax, name(out.message), "has a payload above 2^32 numbers");
  return out;
}

}  // namespace outpace::protocol
