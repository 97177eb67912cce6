#include "throughput/measured_profile.h"

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "throughput/profile_json.h"

namespace outpace::throughput {
namespace {

constexpr double kBytesPerNumber = 4.0;
constexpr std::size_t kIterationsMin = 4;  // Two to predict from, two to judge by.
constexpr double kSecondsMost = 1e6;
constexpr double kGigabytesMost = 1e6;  // A second, in memory.
constexpr std::array<const char*, 3> kCosts{"apply_seconds", "message_seconds", "byte_seconds"};

// Reads values from one profile, and says which one is wrong.
class ProfileReader {
 public:
  ProfileReader(const nlohmann::json& json, std::string name)
      : json_(json), name_(std::move(name)) {}

  [[nodiscard]] Error wrong(const std::string& what) const {
    return usage_error(name_ + ": " + what);
  }

  [[nodiscard]] const nlohmann::json& member(const nlohmann::json& object, const char* key) const {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end()) {
      throw wrong(
          fmt::format("'{}' is missing; write a profile with outpace profile -o FILE", key));
    }
    return *found;
  }

  [[nodiscard]] std::string text(const char* key) const {
    const nlohmann::json& value = member(json_, key);
    if (!value.is_string()) {
      throw wrong(fmt::format("'{}' is {}; expected a string", key, value.dump()));
    }
    return value.get<std::string>();
  }

  [[nodiscard]] std::uint64_t count(const nlohmann::json& object, const char* key) const {
    const nlohmann::json& value = member(object, key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1) {
      throw wrong(
          fmt::format("'{}' is {}; expected a whole number of at least 1", key, value.dump()));
    }
    return value.get<std::uint64_t>();
  }

  [[nodiscard]] double seconds(const nlohmann::json& object, const char* key) const {
    const nlohmann::json& value = member(object, key);
    const double number = value.is_number() ? value.get<double>() : -1.0;
    if (!(number >= 0.0 && number <= kSecondsMost)) {
      throw wrong(fmt::format(
          "'{}' is {}; expected seconds from 0 to {:.0e}", key, value.dump(), kSecondsMost));
    }
    return number;
  }

  // Costs that were not measured; older profiles do not list them.
  [[nodiscard]] std::map<std::string, std::string> not_measured() const {
    std::map<std::string, std::string> all;
    if (!json_.contains("not_measured")) {
      return all;
    }
    const nlohmann::json& object = json_["not_measured"];
    for (const char* key : kCosts) {
      if (!object.is_object() || !object.contains(key)) {
        continue;
      }
      const nlohmann::json& taken = object[key];
      if (taken != kTakenAsZero && taken != kTakenFromOptimizer) {
        throw wrong(fmt::format("'not_measured' has '{}': {}; it takes \"{}\" or \"{}\"",
                                key,
                                taken.dump(),
                                kTakenAsZero,
                                kTakenFromOptimizer));
      }
      all.emplace(key, taken.get<std::string>());
    }
    if (!object.is_object() || all.size() != object.size()) {
      throw wrong(
          "'not_measured' takes an object of apply_seconds, message_seconds and byte_seconds");
    }
    return all;
  }

  // GB of float32 a second, which older profiles do not have.
  [[nodiscard]] PackingRates packing() const {
    if (!json_.contains("packing")) {
      return {};
    }
    const nlohmann::json& both = json_["packing"];
    return {.gradients = rates(member(both, "gradients")),
            .weights = rates(member(both, "weights"))};
  }

  [[nodiscard]] const nlohmann::json& list(const char* key) const {
    const nlohmann::json& value = member(json_, key);
    if (!value.is_array()) {
      throw wrong(fmt::format("'{}' is not a list", key));
    }
    return value;
  }

  // `tensors`: of the network.
  [[nodiscard]] std::vector<MeasuredLayer> layers(std::size_t tensors) const {
    std::vector<MeasuredLayer> layers;
    std::size_t known = 0;
    std::size_t sum = 0;
    for (const nlohmann::json& one : list("layers")) {
      layers.push_back({seconds(one, "forward_seconds"), seconds(one, "backward_seconds")});
      if (!one.contains("tensors")) {
        continue;
      }
      if (!one["tensors"].is_number_unsigned() ||
          one["tensors"].get<std::uint64_t>() > tensors - sum) {
        throw wrong(fmt::format("'tensors' of layer {} is {}; the network has {} tensors",
                                layers.size() - 1,
                                one["tensors"].dump(),
                                tensors));
      }
      layers.back().tensors = one["tensors"].get<std::size_t>();
      sum += *layers.back().tensors;
      ++known;
    }
    if (known != 0 && (known != layers.size() || sum != tensors)) {
      throw wrong(
          fmt::format("'layers' have {} tensors and the network has {}; each layer takes "
                      "'tensors', or none does",
                      sum,
                      tensors));
    }
    return layers;
  }

  [[nodiscard]] protocol::Manifest manifest() const {
    protocol::Manifest manifest;
    std::uint64_t numbers = 0;
    for (const nlohmann::json& one : list("tensors")) {
      protocol::TensorInfo tensor{.name = fmt::format("{}", manifest.tensors.size()), .shape = {}};
      tensor.shape.push_back(count(one, "numbers"));
      numbers += tensor.shape.front();
      if (tensor.shape.front() > protocol::kWeightsMax || numbers > protocol::kWeightsMax ||
          manifest.tensors.size() >= protocol::kTensorsMax) {
        throw wrong("'tensors' has more numbers than the largest network that can be trained");
      }
      manifest.tensors.push_back(std::move(tensor));
    }
    if (manifest.tensors.empty()) {
      throw wrong("'tensors' is empty: a network has weights");
    }
    return manifest;
  }

 private:
  [[nodiscard]] double gigabytes(const nlohmann::json& object, const char* key) const {
    const nlohmann::json& value = member(object, key);
    const double number = value.is_number() ? value.get<double>() : 0.0;
    if (!(number > 0.0 && number <= kGigabytesMost)) {
      throw wrong(fmt::format("'{}' is {}; expected GB a second, more than 0 and at most {:.0e}",
                              key,
                              value.dump(),
                              kGigabytesMost));
    }
    return number;
  }

  [[nodiscard]] std::map<std::string, PackingRate> rates(const nlohmann::json& formats) const {
    if (!formats.is_object()) {
      throw wrong(fmt::format("'packing' has {}; expected rates by format", formats.dump()));
    }
    std::map<std::string, PackingRate> all;
    for (const auto& [format, rate] : formats.items()) {
      all[format] = {gigabytes(rate, "pack"), gigabytes(rate, "unpack")};
    }
    return all;
  }

  const nlohmann::json& json_;
  const std::string name_;
};

nlohmann::ordered_json rates_json(const std::map<std::string, PackingRate>& rates) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [format, rate] : rates) {
    json[format] = {{"pack", rate.pack}, {"unpack", rate.unpack}};
  }
  return json;
}

std::vector<double> every_other(const std::vector<MeasuredIteration>& iterations,
                                std::size_t first) {
  std::vector<double> seconds;
  seconds.reserve(iterations.size() / 2 + 1);
  for (std::size_t i = first; i < iterations.size(); i += 2) {
    seconds.push_back(iterations[i].compute_seconds);
  }
  return seconds;
}

}  // namespace

double MeasuredProfile::payload_bytes() const {
  return kBytesPerNumber * static_cast<double>(manifest.numbers());
}

std::vector<double> MeasuredProfile::computing_to_predict_from() const {
  return every_other(iterations, 0);
}

std::vector<double> MeasuredProfile::computing_to_judge_by() const {
  return every_other(iterations, 1);
}

std::string MeasuredProfile::caveat() const {
  std::string words;
  for (const auto& [cost, taken] : not_measured) {
    words += words.empty() ? "" : ", ";
    words += cost;
    words += taken == kTakenAsZero ? " (assumed 0)" : " (taken from PyTorch's optimizer)";
  }
  return words.empty() ? "" : "not measured, because the profile comes from a trace: " + words;
}

std::string MeasuredProfile::to_json(std::string_view trace_events) const {
  nlohmann::ordered_json json;
  json["format"] = kProfileFormat;
  json["version"] = kProfileVersion;
  json["kind"] = kMeasured;
  json["network"] = network;
  json["data"] = data;
  json["batch"] = batch;
  json["dataset_examples"] = dataset_examples;
  json["payload_bytes"] = payload_bytes();
  json["apply_seconds"] = apply_seconds;
  json["message_seconds"] = message_seconds;
  json["byte_seconds"] = byte_seconds;
  if (sums) {
    json["sum_message_seconds"] = sums->message_seconds;
    json["sum_byte_seconds"] = sums->byte_seconds;
    if (sums->meeting_message_seconds) {
      json["meeting_message_seconds"] = *sums->meeting_message_seconds;
    }
  }
  if (!packing.empty()) {
    json["packing"] = {{"gradients", rates_json(packing.gradients)},
                       {"weights", rates_json(packing.weights)}};
  }
  if (!not_measured.empty()) {
    json["not_measured"] = not_measured;
  }
  json["tensors"] = nlohmann::ordered_json::array();
  for (const protocol::TensorInfo& tensor : manifest.tensors) {
    json["tensors"].push_back({{"name", tensor.name}, {"numbers", tensor.numbers()}});
  }
  json["layers"] = nlohmann::ordered_json::array();
  for (const MeasuredLayer& layer : layers) {
    nlohmann::ordered_json one{{"forward_seconds", layer.forward_seconds},
                               {"backward_seconds", layer.backward_seconds}};
    if (layer.tensors) {
      one["tensors"] = *layer.tensors;
    }
    json["layers"].push_back(std::move(one));
  }
  json["iterations"] = nlohmann::ordered_json::array();
  for (const MeasuredIteration& iteration : iterations) {
    json["iterations"].push_back(
        {{"compute_seconds", iteration.compute_seconds}, {"rest_seconds", iteration.rest_seconds}});
  }
  if (!trace_events.empty()) {
    json["traceEvents"] = nlohmann::ordered_json::parse(trace_events);
  }
  return json.dump(1) + "\n";
}

MeasuredProfile MeasuredProfile::parse(std::string_view text, const std::string& name) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const ProfileReader reader(json, name);
  if (json.is_discarded()) {
    throw reader.wrong("is not JSON, or is truncated; write it with outpace profile -o FILE");
  }
  if (reader.text("format") != kProfileFormat || reader.count(json, "version") != kProfileVersion) {
    throw reader.wrong("is not a profile of version 1; write one with outpace profile -o FILE");
  }
  if (reader.text("kind") != kMeasured) {
    throw reader.wrong("is a profile of kind '" + reader.text("kind") +
                       "'; expected one of outpace profile");
  }
  MeasuredProfile profile;
  profile.network = reader.text("network");
  profile.data = reader.text("data");
  const std::uint64_t batch = reader.count(json, "batch");
  if (batch > UINT32_MAX) {
    throw reader.wrong(fmt::format("'batch' is {}; it takes at most {}", batch, UINT32_MAX));
  }
  profile.batch = static_cast<std::uint32_t>(batch);
  profile.dataset_examples = reader.count(json, "dataset_examples");
  profile.manifest = reader.manifest();
  profile.apply_seconds = reader.seconds(json, "apply_seconds");
  profile.message_seconds = reader.seconds(json, "message_seconds");
  profile.byte_seconds = reader.seconds(json, "byte_seconds");
  if (json.contains("sum_message_seconds")) {
    profile.sums = {.message_seconds = reader.seconds(json, "sum_message_seconds"),
                    .byte_seconds = reader.seconds(json, "sum_byte_seconds")};
    if (json.contains("meeting_message_seconds")) {
      profile.sums->meeting_message_seconds = reader.seconds(json, "meeting_message_seconds");
    }
  }
  profile.packing = reader.packing();
  profile.not_measured = reader.not_measured();
  profile.layers = reader.layers(profile.manifest.tensors.size());
  for (const nlohmann::json& one : reader.list("iterations")) {
    profile.iterations.push_back(
        {reader.seconds(one, "compute_seconds"), reader.seconds(one, "rest_seconds")});
  }
  if (profile.iterations.size() < kIterationsMin) {
    throw reader.wrong(fmt::format("'iterations' has {}; predicting and judging need at least {}",
                                   profile.iterations.size(),
                                   kIterationsMin));
  }
  return profile;
}

}  // namespace outpace::throughput
