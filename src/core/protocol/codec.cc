#include "protocol/codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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
#include "protocol/message_writer.h"
#include "protocol/packing_codec.h"

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
  constexpr int kSettings = 8;
  const int groups = script.methods_size();
  require(groups <= static_cast<int>(kGroupsMax), "hello.script", "has more than 4096 groups");
  require(script.settings_size() == kSettings * groups,
          "hello.script.settings",
          "must be eight of each group");
  require(static_cast<std::size_t>(script.group_of_size()) == (groups == 0 ? 0 : tensors),
          "hello.script.group_of",
          "must name a group for each tensor");
  Script out{.groups = {}, .group_of = {}, .epochs = script.epochs()};
  for (int i = 0; i < groups; ++i) {
    const std::uint32_t method = script.methods(i);
    require(method >= 1 && method <= static_cast<std::uint32_t>(kLastMethod) + 1,
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
                          .epsilon = setting(5),
                          .rate_decay = setting(6),
                          .initial = setting(7)});
  }
  for (const std::uint32_t group : script.group_of()) {
    require(group < out.groups.size(), "hello.script.group_of", "names a group that is not there");
    out.group_of.push_back(group);
  }
  return out;
}

Message read(const pb::Hello& hello) {
  require(hello.ahead() <= kAheadMax, "hello.ahead", "must be at most 256");
  require(hello.stands_for() <= kStandsForMax, "hello.stands_for", "must be at most 4096");
  require(hello.dataset_examples() >= 1, "hello.dataset_examples", "must be at least 1");
  Hello out{.protocol = hello.protocol(),
            .worker = read_worker(hello.worker(), "hello.worker"),
            .process = hello.process(),
            .host = read_text(hello.host(), "hello.host"),
            .dataset_examples = hello.dataset_examples(),
            .manifest = read_manifest(hello.manifest(), "hello.manifest"),
            .seen_job = hello.seen_job(),
            .seen_version = Version{hello.seen_version()},
            .wants_evaluator = hello.wants_evaluator(),
            .ahead = hello.ahead(),
            .steps_locally = hello.steps_locally(),
            .local_steps = hello.local_steps(),
            .unanswered = Sequence{hello.unanswered()},
            .stands_for = std::max(1U, hello.stands_for())};
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
Message read(const pb::Constants& constants) {
  const std::uint64_t size = constants.bytes().size();
  require(size >= 1, "constants.bytes", "must not be empty");
  require(size <= kConstantPartMax, "constants.bytes", "are more than 4 MiB");
  require(constants.whole() <= kConstantBytesMax, "constants.whole", "is above 2^34 bytes");
  require(size <= constants.whole() && constants.begin() <= constants.whole() - size,
          "constants",
          "goes beyond its end");
  return Constants{
      .begin = constants.begin(), .whole = constants.whole(), .bytes = constants.bytes()};
}
Message read(const pb::OptimizerState& state) {
  require(!state.part().empty() && state.part().size() <= kStatePartNameMax,
          "optimizer_state.part",
          "must have 1 to 32 characters");
  return OptimizerState{.tensor = state.tensor(), .updates = state.updates(), .part = state.part()};
}
Ranges read_ranges(const google::protobuf::RepeatedField<std::uint64_t>& positions,
                   std::string_view field) {
  const auto thirds = static_cast<std::size_t>(positions.size());
  require(thirds % 3 == 0, field, "must be triples");
  require(thirds / 3 <= kRangesMax, field, "are more than 4096");
  Ranges out;
  out.reserve(thirds / 3);
  std::uint64_t left = UINT32_MAX;  // A push counts its examples in 32 bits.
  for (int i = 0; i < positions.size(); i += 3) {
    const Range range{.epoch = positions[i], .begin = positions[i + 1], .end = positions[i + 2]};
    require(range.begin < range.end, field, "hold one that is empty");
    require(range.size() <= left, field, "hold more than 2^32 - 1 examples");
    left -= range.size();
    out.push_back(range);
  }
  return out;
}
Message read(const pb::Push& push) {
  require(push.examples() >= 1, "push.examples", "must be at least 1");
  require_finite(push.loss(), "push.loss");  // 0 without one.
  require_finite(push.compute_seconds(), "push.compute_seconds");
  require(push.compute_seconds() >= 0, "push.compute_seconds", "must not be negative");
  require(push.stands_for() <= kStandsForMax, "push.stands_for", "must be at most 4096");
  const auto& without = push.without();
  require(std::ranges::adjacent_find(without, std::greater_equal<>()) == without.end(),
          "push.without",
          "must ascend");
  return Push{.id = read_id(push.has_id(), push.id(), "push.id"),
              .examples = push.examples(),
              .partial = push.partial(),
              .loss = push.has_loss() ? std::optional(push.loss()) : std::nullopt,
              .compute_seconds = push.compute_seconds(),
              .without = {without.begin(), without.end()},
              .covers = read_ranges(push.covers(), "push.covers"),
              .stands_for = push.stands_for()};
}
// `numbers`: of its payload.
Message read(const pb::Slice& slice, std::uint64_t numbers) {
  require(slice.whole() <= kWeightsMax, "slice.whole", "is above 2^32 numbers");
  require(slice.begin() >= 1, "slice.begin", "must be at least 1: the front comes with the push");
  require(numbers >= 1, "slice", "must have a payload");
  require(slice.begin() < slice.whole() && numbers <= slice.whole() - slice.begin(),
          "slice",
          "goes beyond the end of its gradient");
  return Slice{
      .sequence = Sequence{slice.sequence()}, .begin = slice.begin(), .whole = slice.whole()};
}
Message read(const pb::Abandoned& abandoned) {
  require(abandoned.why() <= static_cast<std::uint32_t>(GivenUp::kLeaveOut),
          "abandoned.why",
          "must be 0, 1 or 2");
  return Abandoned{.id = read_id(abandoned.has_id(), abandoned.id(), "abandoned.id"),
                   .why = static_cast<GivenUp>(abandoned.why())};
}
Message read(const pb::Welcome& welcome) {
  require(welcome.heartbeat_ns() >= 1, "welcome.heartbeat", "must be above 0");
  require(welcome.incarnation() >= 1, "welcome.incarnation", "must be at least 1");
  require(welcome.now_ns() >= 0, "welcome.now", "must not be negative");
  require(std::isfinite(welcome.inner_weight_decay()) && welcome.inner_weight_decay() >= 0.0,
          "welcome.inner_weight_decay",
          "must be finite and at least 0");
  return Welcome{.job = welcome.job(),
                 .generation = welcome.generation(),
                 .needs_weights = welcome.needs_weights(),
                 .heartbeat = Duration{welcome.heartbeat_ns()},
                 .seed = welcome.seed(),
                 .with_replacement = welcome.with_replacement(),
                 .incarnation = welcome.incarnation(),
                 .inner_optimizer = read_name(welcome.inner_optimizer(), "welcome.inner_optimizer"),
                 .inner_weight_decay = welcome.inner_weight_decay(),
                 .compress = read_name(welcome.compress(), "welcome.compress"),
                 .counted = welcome.counted(),
                 .above = welcome.above(),
                 .now = Time{Duration{welcome.now_ns()}},
                 .newcomer = welcome.newcomer()};
}
std::vector<Ranges> read_ahead(const google::protobuf::RepeatedField<std::uint64_t>& numbers) {
  const auto fourths = static_cast<std::size_t>(numbers.size());
  require(fourths % 4 == 0, "release.ahead", "must be fourfold");
  require(fourths / 4 <= kRangesMax, "release.ahead", "is of more than 4096 ranges");
  std::vector<Ranges> out;
  for (int i = 0; i < numbers.size(); i += 4) {
    const Range range{.epoch = numbers[i + 1], .begin = numbers[i + 2], .end = numbers[i + 3]};
    require(range.begin < range.end && range.size() <= UINT32_MAX,
            "release.ahead",
            "holds a range that is empty or too large");
    if (numbers[i] == out.size()) {
      require(out.size() < kAheadMax, "release.ahead", "is of more than 256 releases");
      out.emplace_back();
    }
    require(numbers[i] + 1 == out.size(), "release.ahead", "is not in order");
    out.back().push_back(range);
  }
  return out;
}
Message read(const pb::Release& release) {
  require(release.nominal() >= 1, "release.nominal", "must be at least 1");
  require(release.now_ns() >= 0, "release.now", "must not be negative");
  require(std::isfinite(release.inner_rate()) && release.inner_rate() >= 0.0,
          "release.inner_rate",
          "must be finite and at least 0");
  require(!release.ranges().empty(), "release.ranges", "must not be empty");
  Release out{.sequence = Sequence{release.sequence()},
              .version = Version{release.version()},
              .nominal = release.nominal(),
              .may_keep_part = release.may_keep_part(),
              .now = Time{Duration{release.now_ns()}},
              .ranges = read_ranges(release.ranges(), "release.ranges")};
  out.ahead = read_ahead(release.ahead());
  out.inner_rate = release.inner_rate();
  out.kept = release.kept();
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
std::vector<WorkerId> read_workers(const google::protobuf::RepeatedField<std::uint32_t>& workers,
                                   std::string_view field) {
  require(workers.size() <= static_cast<int>(kWorkersMax), field, "are more than 65536");
  std::vector<WorkerId> out;
  for (const std::uint32_t worker : workers) {
    out.push_back(read_worker(worker, field));
  }
  return out;
}
PeerPlace read(const pb::PeerPlace& place, std::string_view field) {
  require(place.addresses_size() <= static_cast<int>(kPlaceAddressesMax),
          field,
          "have more than 16 addresses");
  require(place.certificate().empty() || place.certificate().size() == kPlaceCertificateSize,
          field,
          "must have a fingerprint of 16 bytes");
  PeerPlace out{.addresses = {}, .certificate = place.certificate()};
  for (const std::string& address : place.addresses()) {
    out.addresses.push_back(read_text(address, field));
  }
  return out;
}
Message read(const pb::Group& group) {
  require(!group.members().empty(), "group.members", "must not be empty");
  require(group.places().empty() || group.places_size() == group.members_size(),
          "group.places",
          "must be one of each member");
  Group out{.generation = group.generation(),
            .version = Version{group.version()},
            .members = read_workers(group.members(), "group.members"),
            .ahead = read_worker(group.ahead(), "group.ahead"),
            .behind = read_workers(group.behind(), "group.behind"),
            .newcomers = read_workers(group.newcomers(), "group.newcomers")};
  for (const pb::PeerPlace& place : group.places()) {
    out.places.push_back(read(place, "group.places"));
  }
  return out;
}
Message read(const pb::Standing& standing) {
  return Standing{.generation = standing.generation(),
                  .version = Version{standing.version()},
                  .newcomer = standing.newcomer(),
                  .place = read(standing.place(), "standing.place")};
}
Message read(const pb::Regroup& regroup) {
  require(regroup.key().empty() || regroup.key().size() == kGroupKeySize,
          "regroup.key",
          "must have 32 bytes");
  return Regroup{.generation = regroup.generation(), .key = regroup.key()};
}
Message read(const pb::Frame& frame) {
  switch (frame.kind_case()) {
    case pb::Frame::kHello:
      return read(frame.hello());
    case pb::Frame::kObserve:
      return read(frame.observe());
    case pb::Frame::kInitialWeights:
      return InitialWeights{};
    case pb::Frame::kConstants:
      return read(frame.constants());
    case pb::Frame::kOptimizerState:
      return read(frame.optimizer_state());
    case pb::Frame::kPush:
      return read(frame.push());
    case pb::Frame::kSlice:
      return read(frame.slice(), frame.payload_numbers());
    case pb::Frame::kAbandoned:
      return read(frame.abandoned());
    case pb::Frame::kHeartbeat:
      return Heartbeat{};
    case pb::Frame::kGoodbye:
      return Goodbye{};
    case pb::Frame::kMeasurement:
      return protocol::read(frame.measurement());
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
    case pb::Frame::kAskStatus:
    case pb::Frame::kSlowDown:
    case pb::Frame::kEndRun:
    case pb::Frame::kAskEvaluated:
    case pb::Frame::kAskSeats:
    case pb::Frame::kSeats:
    case pb::Frame::kExpel:
    case pb::Frame::kAskCode:
    case pb::Frame::kEvaluated:
    case pb::Frame::kAnswer:
    case pb::Frame::kStatus:
      return read_control(frame);
    case pb::Frame::kRates:
      return read(frame.rates());
    case pb::Frame::kAskEvaluator:
      return AskEvaluator{};
    case pb::Frame::kStanding:
      return read(frame.standing());
    case pb::Frame::kRegroup:
      return read(frame.regroup());
    case pb::Frame::kGroup:
      return read(frame.group());
    case pb::Frame::KIND_NOT_SET:
      break;
  }
  throw Error(ExitCode::kFailure, "frame holds no message that we know");
}

}  // namespace

const char* name(const Message& message) {
  static constexpr std::array<const char*, std::variant_size_v<Message>> kNames = {
      "hello",      "observe",    "initial_weights", "push",           "slice",
      "abandoned",  "heartbeat",  "goodbye",         "measurement",    "welcome",
      "release",    "cancel",     "verdict",         "snapshot",       "stop",
      "set_policy", "ask_status", "slow_down",       "end_run",        "ask_evaluated",
      "ask_seats",  "expel",      "ask_code",        "evaluated",      "answer",
      "status",     "seats",      "rates",           "ask_evaluator",  "standing",
      "regroup",    "group",      "constants",       "optimizer_state"};
  return kNames.at(message.index());
}

bool carries_payload(const Message& message) {
  return std::holds_alternative<InitialWeights>(message) || std::holds_alternative<Push>(message) ||
         std::holds_alternative<Slice>(message) || std::holds_alternative<Release>(message) ||
         std::holds_alternative<Snapshot>(message) ||
         std::holds_alternative<OptimizerState>(message);
}

std::string encode(const Message& message,
                   std::uint64_t payload_numbers,
                   const std::optional<Packing>& packing) {
  CHECK(payload_numbers == 0 || carries_payload(message));
  pb::Frame frame;
  write(message, frame);
  frame.set_payload_numbers(payload_numbers);
  if (packing) {
    write(*packing, *frame.mutable_packing());
  }
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
  if (parsed.has_packing()) {
    out.packing = read_packing(parsed.packing(), out.message, out.payload_numbers);
  }
  return out;
}

}  // namespace outpace::protocol
