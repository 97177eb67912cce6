#include "throughput/profile_json.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace outpace::throughput {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::pair<Growth, const char*>, 3> kGrowthNames = {
    {{Growth::kLogarithmic, "logarithmic"},
     {Growth::kSaturating, "saturating"},
     {Growth::kLinear, "linear"}}};
// The largest number in the file, so that nothing computed from them is infinite.
constexpr double kMost = 1e15;
constexpr std::uint64_t kWorkersMost = 1'000'000;

const char* name_of(Growth growth) {
  for (const auto& [known, name] : kGrowthNames) {
    if (known == growth) {
      return name;
    }
  }
  return "";
}

ordered_json json_of(const IterationCost& cost) {
  return {{"growth", name_of(cost.growth)},
          {"compute_fixed_seconds", cost.compute_fixed},
          {"compute_seconds_per_example", cost.compute_example},
          {"compute_seconds_per_example_squared", cost.compute_square},
          {"local_fixed_seconds", cost.local.fixed},
          {"local_growth_seconds", cost.local.growth},
          {"across_fixed_seconds", cost.across.fixed},
          {"across_growth_seconds", cost.across.growth},
          {"overlap", cost.overlap}};
}

ordered_json json_of(const Seen& seen) {
  return {{"workers_min", seen.workers_min},
          {"workers_max", seen.workers_max},
          {"local_workers_max", seen.local_workers_max},
          {"across_workers_max", seen.across_workers_max},
          {"workers_per_node_max", seen.workers_per_node_max},
          {"batch_min", seen.batch_min},
          {"batch_max", seen.batch_max}};
}

ordered_json json_of(const CalibratedGroup& group) {
  ordered_json others = ordered_json::array();
  for (const IterationCost& other : group.others) {
    others.push_back(json_of(other));
  }
  ordered_json held_out = nullptr;
  if (group.held_out) {
    held_out = {{"rows", group.held_out->rows},
                {"median", group.held_out->median},
                {"ninety", group.held_out->ninety}};
  }
  return {{"policy", group.policy},
          {"topology", group.topology},
          {"rows", group.rows},
          {"cost", json_of(group.cost)},
          {"others", std::move(others)},
          {"spread", group.spread},
          {"fit_median", group.fit_median},
          {"held_out", std::move(held_out)},
          {"seen", json_of(group.seen)}};
}

// An object of the file, and its place for error messages.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) {
      throw wrong("is not an object");
    }
  }

  [[nodiscard]] const json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) {
      throw wrong(fmt::format("has no '{}'", key));
    }
    return *found;
  }
  [[nodiscard]] Reader child(const char* key) const { return {at(key), where_ + ", " + key}; }
  [[nodiscard]] double number(const char* key, double least = 0.0, double most = kMost) const {
    const json& value = at(key);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < least ||
        value.get<double>() > most) {
      throw wrong(fmt::format("has a '{}' that is no number from {:g} to {:g}", key, least, most));
    }
    return value.get<double>();
  }
  [[nodiscard]] std::uint64_t count(const char* key, std::uint64_t most = kWorkersMost) const {
    const json& value = at(key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
      throw wrong(fmt::format("has a '{}' that is no whole number up to {}", key, most));
    }
    return value.get<std::uint64_t>();
  }
  [[nodiscard]] std::uint32_t workers(const char* key) const {
    return static_cast<std::uint32_t>(count(key));
  }
  [[nodiscard]] std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) {
      throw wrong(fmt::format("has a '{}' that is no text", key));
    }
    return value.get<std::string>();
  }
  [[nodiscard]] const json& list(const char* key) const {
    const json& value = at(key);
    if (!value.is_array()) {
      throw wrong(fmt::format("has a '{}' that is no list", key));
    }
    return value;
  }
  [[nodiscard]] Error wrong(const std::string& what) const {
    return usage_error(fmt::format("{} {}; write it again with outpace calibrate", where_, what));
  }
  [[nodiscard]] const std::string& where() const { return where_; }

 private:
  const json& object_;
  std::string where_;
};

IterationCost read_cost(const Reader& read) {
  IterationCost cost{
      .compute_fixed = read.number("compute_fixed_seconds"),
      .compute_example = read.number("compute_seconds_per_example"),
      .compute_square = read.number("compute_seconds_per_example_squared"),
      .local = {.fixed = read.number("local_fixed_seconds"),
                .growth = read.number("local_growth_seconds")},
      .across = {.fixed = read.number("across_fixed_seconds"),
                 .growth = read.number("across_growth_seconds")},
      .overlap = read.number("overlap", 1.0, 10.0),
  };
  const std::string growth = read.text("growth");
  for (const auto& [known, name] : kGrowthNames) {
    if (growth == name) {
      cost.growth = known;
      return cost;
    }
  }
  throw read.wrong("has a 'growth' that is not logarithmic, saturating or linear");
}

Seen read_seen(const Reader& read) {
  const Seen seen{.workers_min = read.workers("workers_min"),
                  .workers_max = read.workers("workers_max"),
                  .local_workers_max = read.workers("local_workers_max"),
                  .across_workers_max = read.workers("across_workers_max"),
                  .workers_per_node_max = read.workers("workers_per_node_max"),
                  .batch_min = read.number("batch_min"),
                  .batch_max = read.number("batch_max")};
  if (seen.workers_min < 1 || seen.workers_max < seen.workers_min ||
      seen.workers_per_node_max < 1 || seen.batch_min <= 0.0 || seen.batch_max < seen.batch_min) {
    throw read.wrong("says of no workers, or of no batch");
  }
  return seen;
}

CalibratedGroup read_group(const Reader& read) {
  CalibratedGroup group{.policy = read.text("policy"),
                        .topology = read.text("topology"),
                        .rows = read.count("rows"),
                        .cost = read_cost(read.child("cost")),
                        .spread = read.number("spread", 0.0, 100.0),
                        .fit_median = read.number("fit_median"),
                        .seen = read_seen(read.child("seen"))};
  const json& others = read.list("others");
  group.others.reserve(others.size());
  for (const json& other : others) {
    group.others.push_back(read_cost(Reader(other, read.where() + ", others")));
  }
  if (!read.at("held_out").is_null()) {
    const Reader held_out = read.child("held_out");
    group.held_out = HeldOut{.rows = held_out.count("rows"),
                             .median = held_out.number("median"),
                             .ninety = held_out.number("ninety")};
  }
  if (iteration_seconds(group.cost, {.batch_per_worker = group.seen.batch_max}) <= 0.0) {
    throw read.wrong("costs nothing");
  }
  return group;
}

}  // namespace

std::string to_json_text(const CalibratedProfile& profile) {
  ordered_json groups = ordered_json::array();
  for (const CalibratedGroup& group : profile.groups) {
    groups.push_back(json_of(group));
  }
  const ordered_json whole{{"format", kProfileFormat},
                           {"version", kProfileVersion},
                           {"kind", kCalibrated},
                           {"groups", std::move(groups)}};
  return whole.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

json parse_profile(const std::string& text, const std::string& name) {
  json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) {
    throw usage_error(
        name +
        " is not JSON, or is truncated; write a profile with outpace profile or outpace calibrate");
  }
  const auto says = [&parsed](const char* key, const json& value) {
    const auto found = parsed.find(key);
    return found != parsed.end() && *found == value;
  };
  if (!parsed.is_object() || !says("format", kProfileFormat)) {
    throw usage_error(fmt::format(
        "{} is not a profile: it does not have \"format\": \"{}\"", name, kProfileFormat));
  }
  if (!says("version", kProfileVersion)) {
    throw usage_error(fmt::format("{} is not a profile of version {}", name, kProfileVersion));
  }
  return parsed;
}

std::string kind_of(const json& profile, const std::string& name) {
  return Reader(profile, name).text("kind");
}

CalibratedProfile calibrated_profile(const json& profile, const std::string& name) {
  const json& groups = Reader(profile, name).list("groups");
  if (groups.empty()) {
    throw usage_error(name + " has no groups; write it again with outpace calibrate");
  }
  CalibratedProfile found;
  found.groups.reserve(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    found.groups.push_back(read_group(Reader(groups[i], fmt::format("{}: group {}", name, i + 1))));
  }
  return found;
}

}  // namespace outpace::throughput
