// Writes the first inputs of each target, made from real messages: write_fuzz_corpus fuzz/corpus.
//
// It overwrites its own files, and leaves those that a finding added. Run it again after a change
// of the protocol.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "compress/format.h"
#include "compress/pack.h"
#include "compress/reference.h"
#include "protocol/codec.h"
#include "wire/address.h"
#include "wire/bundle_chunks.h"
#include "wire/certificates.h"
#include "wire/handshake.h"
#include "wire/records.h"
#include "wire/tls_stream.h"

namespace outpace::fuzz {
namespace {

using protocol::Abandoned;
using protocol::Answer;
using protocol::AskEvaluator;
using protocol::AskStatus;
using protocol::Cancel;
using protocol::encode;
using protocol::Farewell;
using protocol::Goodbye;
using protocol::Heartbeat;
using protocol::Hello;
using protocol::InitialWeights;
using protocol::Measurement;
using protocol::Message;
using protocol::Observe;
using protocol::OptimizerState;
using protocol::Outcome;
using protocol::Push;
using protocol::Rates;
using protocol::Release;
using protocol::SetPolicy;
using protocol::Slice;
using protocol::Snapshot;
using protocol::Status;
using protocol::Stop;
using protocol::Verdict;
using protocol::Welcome;
using wire::Checksums;
using wire::RecordKind;

using Named = std::pair<std::string, std::string>;  // A file's name and its bytes.

const protocol::GradientId kId{.job = 0x0123456789abcdef,
                               .generation = 1,
                               .worker = WorkerId{3},
                               .incarnation = 2,
                               .sequence = Sequence{17}};

protocol::Manifest manifest() {
  return {.tensors = {{.name = "0.weight", .shape = {10, 784}},
                      {.name = "0.bias", .shape = {10}},
                      {.name = "scale", .shape = {}}}};
}

std::vector<Named> messages() {
  const std::vector<std::pair<std::string, Message>> plain = {
      {"hello",
       Hello{.worker = WorkerId{3},
             .process = 2,
             .host = "node-3",
             .dataset_examples = 60'000,
             .manifest = manifest()}},
      {"observe", Observe{.manifest = manifest()}},
      {"rates", Rates{.epoch = 7, .rates = {0.1, 0.01}}},
      {"ask-evaluator", AskEvaluator{}},
      {"abandoned", Abandoned{kId}},
      {"heartbeat", Heartbeat{}},
      {"goodbye", Goodbye{}},
      {"measurement", Measurement{.version = Version{512}, .accuracy = 0.84, .loss = 0.412}},
      {"end-run", protocol::EndRun{.why = "early stop"}},
      {"ask-evaluated", protocol::AskEvaluated{.epoch = 7}},
      {"evaluated",
       protocol::Evaluated{.comes = true,
                           .found = Measurement{.version = Version{512},
                                                .accuracy = 0.84,
                                                .loss = 0.412,
                                                .values = {{"f1", 0.8}}}}},
      {"welcome",
       Welcome{.job = kId.job,
               .generation = 1,
               .needs_weights = true,
               .heartbeat = std::chrono::seconds(1),
               .seed = 7,
               .with_replacement = false}},
      {"cancel", Cancel{.sequence = Sequence{17}, .keep_part = true}},
      {"verdict-accepted",
       Verdict{.sequence = Sequence{17}, .outcome = Outcome::kAccepted, .why = {}}},
      {"verdict-refused",
       Verdict{.sequence = Sequence{17}, .outcome = Outcome::kRefused, .why = "it is not finite"}},
      {"stop", Stop{.how = Farewell::kFinished, .why = "target accuracy reached"}},
      {"stop-presumed-dead", Stop{.how = Farewell::kPresumedDead, .why = "silent for 5 s"}},
      {"set-policy", SetPolicy{.policy = "switch(sync until loss<0.5 then async)"}},
      {"ask-status", AskStatus{}},
      {"ask-seats", protocol::AskSeats{.host = "node2", .workers = 3}},
      {"seats", protocol::Seats{.workers = {WorkerId{3}, WorkerId{4}}, .planned = 5}},
      {"expel", protocol::Expel{.worker = WorkerId{3}}},
      {"ask-code", protocol::AskCode{.renew = true}},
      {"answer",
       Answer{.code = ExitCode::kDone, .text = "policy is now ssp:s=3 from version 1234 on"}},
      {"status",
       Status{.policy = "sync",
              .coming = "async",
              .version = Version{512},
              .live = 7,
              .workers = 8,
              .staleness_mean = 6.9,
              .training_loss = 0.412,
              .now = Time{std::chrono::seconds(12)}}},
      {"standing", protocol::Standing{.generation = 2, .version = Version{512}}},
      {"regroup", protocol::Regroup{.generation = 3}},
      {"group",
       protocol::Group{.generation = 3,
                       .version = Version{513},
                       .members = {WorkerId{0}, WorkerId{3}},
                       .ahead = WorkerId{3},
                       .behind = {WorkerId{0}}}}};
  std::vector<Named> named;
  for (const auto& [name, message] : plain) {
    named.emplace_back(name, encode(message, 0));
  }
  const Release release{.sequence = Sequence{17},
                        .version = Version{512},
                        .nominal = 64,
                        .may_keep_part = true,
                        .now = Time{std::chrono::seconds(12)},
                        .ranges = {{.epoch = 0, .begin = 59'968, .end = 60'000},
                                   {.epoch = 1, .begin = 0, .end = 32}}};
  named.emplace_back("initial-weights", encode(InitialWeights{}, 7851));
  named.emplace_back("optimizer-state",
                     encode(OptimizerState{.tensor = 1, .updates = 20, .part = "velocity"}, 10));
  named.emplace_back(
      "push",
      encode(
          Push{.id = kId, .examples = 64, .partial = false, .loss = 0.4, .compute_seconds = 0.02},
          7851));
  named.emplace_back("slice",
                     encode(Slice{.sequence = Sequence{17}, .begin = 7841, .whole = 7851}, 10));
  named.emplace_back("release", encode(release, 7851));
  named.emplace_back("snapshot", encode(Snapshot{.version = Version{512}}, 7851));
  named.emplace_back("empty", "");
  named.emplace_back("field-of-tomorrow", encode(Heartbeat{}, 0) + std::string("\xf8\x07\x01", 3));
  return named;
}

std::string text_record(RecordKind kind, const std::string& body) {
  return encode_head(kind, body, Checksums::kCrc32c) + body;
}
std::string message_record(const Message& message, std::uint64_t numbers = 0) {
  return text_record(RecordKind::kMessage, encode(message, numbers));
}
std::string numbers_record(std::size_t count) {
  std::string body;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(i) / 8;
    body.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  return text_record(RecordKind::kNumbers, body);
}

std::vector<Named> records() {
  const Push push{.id = kId, .examples = 64, .partial = true, .loss = 0.4, .compute_seconds = 0.02};
  const std::string heartbeat = message_record(Heartbeat{});
  const std::string whole = message_record(push, 300) + numbers_record(300);
  const std::string in_two = message_record(push, 300) + numbers_record(100) + numbers_record(200);
  const std::string farewell = text_record(RecordKind::kFarewell, "");
  // Options, authorised numbers in units of 256, steps: in record_fuzz.cc and targets.h.
  const auto input = [](char options, char authorised, const std::string& steps) {
    return std::string({options, authorised, static_cast<char>(steps.size())}) + steps;
  };
  const std::string byte_by_byte = input(0, 2, std::string("\1", 1));
  const std::string at_once = input(0, 2, "");
  const std::string sealed = input(1, 2, std::string("\7\0\200", 3));
  const std::string repaired = input(2, 2, std::string("\20\3", 2));
  const auto slice = [](std::uint64_t begin, std::size_t count) {
    return message_record(Slice{.sequence = kId.sequence, .begin = begin, .whole = 300}, count) +
           numbers_record(count);
  };
  const std::string front = message_record(push, 100) + numbers_record(100);
  const std::string in_slices = slice(200, 100) + heartbeat + slice(100, 100) + front;
  std::string damaged = whole;
  damaged[damaged.size() - 2] ^= 1;
  return {{"heartbeats", at_once + heartbeat + heartbeat + heartbeat + farewell},
          {"heartbeats-in-bytes", byte_by_byte + heartbeat + heartbeat + farewell},
          {"push", at_once + whole + heartbeat},
          {"push-in-bytes", byte_by_byte + whole + farewell},
          {"push-in-two", sealed + in_two + heartbeat + in_two},
          {"push-in-two-repaired", repaired + in_two + whole + farewell},
          {"push-damaged", at_once + damaged},
          {"push-in-slices", repaired + in_slices + whole + in_slices + farewell},
          {"push-in-slices-in-bytes", byte_by_byte + in_slices + farewell},
          {"slices-abandoned",
           sealed + slice(200, 100) + message_record(Abandoned{kId}) + in_slices + farewell},
          {"slices-leave-a-gap", sealed + slice(200, 100) + slice(50, 100) + front},
          {"slices-repeat", sealed + slice(200, 100) + slice(150, 100) + front},
          {"slices-without-the-push", sealed + slice(200, 100) + slice(100, 100) + farewell},
          {"push-not-authorised", input(0, 1, "") + whole},
          {"push-broken-off", at_once + whole.substr(0, whole.size() / 2)},
          {"push-within-push", sealed + message_record(push, 300) + message_record(push, 300)},
          {"numbers-of-nothing", sealed + numbers_record(3)},
          {"numbers-too-many", sealed + message_record(push, 300) + numbers_record(301)},
          {"farewell", at_once + text_record(RecordKind::kFarewell, "frame is malformed")},
          {"unknown-kind", sealed + text_record(RecordKind{4}, "")},
          {"release",
           repaired +
               message_record(Release{.sequence = Sequence{1},
                                      .version = Version{0},
                                      .nominal = 64,
                                      .may_keep_part = false,
                                      .now = Time{},
                                      .ranges = {{.epoch = 0, .begin = 0, .end = 64}}},
                              300) +
               numbers_record(300) + farewell},
          {"hello",
           sealed +
               message_record(Hello{.worker = WorkerId{0},
                                    .process = 1,
                                    .host = "node-0",
                                    .dataset_examples = 60'000,
                                    .manifest = manifest()}) +
               heartbeat}};
}

// The first bytes of a worker over TLS, as its socket shows them.
std::string client_hello(const std::filesystem::path& folder) {
  using std::chrono::steady_clock;
  write_certificates(folder,
                     wire::make_certificates(
                         std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()),
                         std::chrono::days(1)));
  const wire::TlsContext worker({.certificate = (folder / "worker.pem").string(),
                                 .key = (folder / "worker.key").string(),
                                 .ca = (folder / "ca.pem").string()},
                                wire::TlsSide::kWorker);
  const wire::Listener listener = wire::listen_on("unix:" + (folder / "socket").string());
  const auto until = steady_clock::now() + std::chrono::seconds(10);
  wire::TlsStream client(
      wire::connect_to(wire::resolve(listener.address, until).at(0), until, wire::Descriptor()),
      worker);
  wire::Endpoint peer;
  wire::PlainStream server(wire::accept_from(listener.socket, peer));
  static_cast<void>(client.open());  // It waits for an answer.
  std::array<char, 4096> room{};
  const iovec part{.iov_base = room.data(), .iov_len = room.size()};
  return {room.data(), server.receive({&part, 1}).bytes};
}

std::vector<Named> handshakes(const std::string& hello) {
  wire::Nonce nonce{};
  nonce.fill('n');
  const wire::OpeningBytes bytes = wire::encode_opening(nonce);
  const std::string opening(bytes.data(), bytes.size());
  const wire::OpeningBytes pass_bytes = wire::encode_opening(nonce, {}, {.generation = 1});
  const std::string of_pass(pass_bytes.data(), pass_bytes.size());
  // Way (0 plain, 1 raw to TLS, 2 through TLS; 4 proves), steps: in handshake_fuzz.cc and
  // targets.h.
  const auto input = [](char way, const std::string& steps) {
    return std::string({way, static_cast<char>(steps.size())}) + steps;
  };
  const std::string one("\1", 1);
  const std::string guess(32, 'g');
  return {{"admitted", input(4, "") + opening},
          {"admitted-in-bytes", input(4, one) + opening},
          {"admitted-through-tls", input(6, "") + opening},
          {"opening", input(0, "") + opening},
          {"opening-of-pass", input(0, "") + of_pass},
          {"opening-of-pass-through-tls", input(2, "") + of_pass},
          {"opening-half", input(0, one) + opening.substr(0, 20)},
          {"opening-through-tls", input(2, one) + opening},
          {"wrong-proof", input(0, "") + opening + guess},
          {"wrong-proof-in-steps", input(0, std::string("\13\3", 2)) + opening + guess},
          {"wrong-proof-through-tls", input(2, "") + opening + guess},
          {"early-byte", input(4, "") + opening + "x"},
          {"nothing", input(0, "")},
          {"http", input(0, "") + "GET / HTTP/1.1\r\n\r\n"},
          {"version-1", input(0, "") + "OUTPACE1" + guess},
          {"tls-to-plain", input(0, "") + hello},
          {"plain-to-tls", input(1, "") + opening},
          {"client-hello", input(1, "") + hello},
          {"client-hello-in-steps", input(1, std::string("\100\5", 2)) + hello},
          {"client-hello-half", input(1, "") + hello.substr(0, hello.size() / 2)}};
}

// As packed_fuzz.cc reads it.
std::string packed_head(std::uint8_t what, const compress::Format& format, std::size_t numbers) {
  std::string head;
  for (const std::size_t value : {std::size_t{what}, std::size_t{format.bits}}) {
    head += static_cast<char>(value);
  }
  for (const std::size_t value : {std::size_t{format.kept}, numbers}) {
    head += static_cast<char>(value & 255U);
    head += static_cast<char>(value >> 8U);
  }
  return head;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<Named> payloads() {
  std::vector<float> numbers(300);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(i % 100) - 40.5F;
  }
  std::vector<Named> made;
  for (const std::string spec :
       {"none", "bf16", "fp16", "int8", "int4", "topk", "topk:0.1,bits=2"}) {
    const compress::Format format = compress::Compression::parse(spec).format;
    std::vector<std::byte> bytes(packed_bytes(format, numbers.size()));
    pack(format, numbers, bytes);
    const auto what = static_cast<std::uint8_t>(format.kind);
    const std::string name = spec.ends_with("bits=2") ? "topk-of-2-bits" : spec;
    made.emplace_back(name, packed_head(what, format, numbers.size()) + text_of(bytes));
  }
  std::vector<float> reference(numbers.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    reference[i] = static_cast<float>(i % 100) - 50.0F;
  }
  for (std::uint8_t kind = 0; kind < 4; ++kind) {
    using compress::WeightsKind;
    std::vector<float> now(numbers.size());
    const auto weights = static_cast<WeightsKind>(kind);
    const std::string name = "weights-" + std::string(compress::name(weights));
    const auto first = pack_weights(weights, {}, numbers, now);
    made.emplace_back(name + "-first", packed_head(6 + kind, {}, now.size()) + text_of(first));
    const auto next = pack_weights(weights, reference, numbers, now);
    made.emplace_back(name, packed_head(10 + kind, {}, now.size()) + text_of(next));
    std::vector<float> few = reference;
    few[7] = few[299] = 0.5F;
    const auto sparse = pack_weights(weights, reference, few, now);
    made.emplace_back(name + "-few", packed_head(10 + kind, {}, now.size()) + text_of(sparse));
  }
  return made;
}

// A head, and bytes that are chunks in order, in disorder and lost.
std::vector<Named> frames() {
  std::vector<Named> made;
  for (const auto kind :
       {wire::FrameKind::kChunk, wire::FrameKind::kTaken, wire::FrameKind::kEnd}) {
    const auto head = wire::encode_frame(
        {.kind = kind, .bytes = kind == wire::FrameKind::kChunk ? 64U : 0U, .place = 64});
    made.emplace_back("head-" + std::to_string(static_cast<int>(kind)),
                      std::string(head.data(), head.size()));
  }
  std::string chunks(3, '\0');
  for (const int place : {2, 1, 3, 1, 0}) {  // Each is a byte.
    chunks += std::string{static_cast<char>(place), '\0', '\0'};
  }
  made.emplace_back("disorder", chunks + std::string(20, '\0'));
  made.emplace_back("sent-lost-again", std::string("\0\7\0\6\2\2\3\1\1\5\3\0\2\3\1\7\2\1\3\3", 20));
  return made;
}

void write(const std::filesystem::path& folder, const std::vector<Named>& inputs) {
  std::filesystem::create_directories(folder);
  for (const auto& [name, bytes] : inputs) {
    std::ofstream file(folder / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
}

void write_all(const std::filesystem::path& corpus) {
  const std::filesystem::path scratch = corpus / "scratch";
  const std::string hello = client_hello(scratch);
  std::filesystem::remove_all(scratch);
  write(corpus / "message", messages());
  write(corpus / "record", records());
  write(corpus / "packed", payloads());
  write(corpus / "bundle", frames());
  write(corpus / "handshake", handshakes(hello));
}

}  // namespace
}  // namespace outpace::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_fuzz_corpus FOLDER\n", stderr);
    return 2;
  }
  try {
    outpace::fuzz::write_all(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_fuzz_corpus: %s\n", error.what());
    return 1;
  }
  return 0;
}
