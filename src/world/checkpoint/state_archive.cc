#include "checkpoint/state_archive.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace outpace::checkpoint {
namespace {

using nlohmann::json;

constexpr const char* kFloats = "floats";

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

[[noreturn]] void refuse_state(const std::string& path, const std::string& why) {
  throw Error(ExitCode::kUnreadable, "state '" + path + "' " + why);
}

}  // namespace

// ---- Writing ------------------------------------------------------------------------------------

StateWriter::StateWriter(Tensors spare)
    : spare_(std::move(spare)), groups_{&state_.json}, paths_{""} {}

json& StateWriter::put(std::string_view name, json value) {
  json& group = *groups_.back();
  if (group.is_array()) {
    return group.emplace_back(std::move(value));
  }
  const auto [at, fresh] = group.emplace(std::string(name), std::move(value));
  CHECK(fresh);
  return *at;
}

void StateWriter::flag(std::string_view name, bool& value) {
  put(name, value);
}

void StateWriter::whole(std::string_view name, std::uint64_t& value, std::uint64_t /*most*/) {
  put(name, value);
}

void StateWriter::signed_whole(std::string_view name, std::int64_t& value) {
  put(name, value);
}

void StateWriter::real(std::string_view name, double& value) {
  if (std::isfinite(value)) {
    put(name, value);
  } else {
    put(name, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
}

void StateWriter::text(std::string_view name, std::string& value) {
  put(name, value);
}

void StateWriter::floats(std::string_view name, std::vector<float>& values) {
  const json& group = *groups_.back();
  const std::string path =
      joined(paths_.back(), group.is_array() ? std::to_string(group.size()) : std::string(name));
  put(name, json{{kFloats, values.size()}});
  if (!values.empty()) {
    std::vector<float>& kept = state_.tensors[path];
    if (const auto spare = spare_.find(path); spare != spare_.end()) {
      kept.swap(spare->second);
    }
    kept.assign(values.begin(), values.end());
  }
}

void StateWriter::enter(std::string_view name) {
  const json& group = *groups_.back();
  paths_.push_back(
      joined(paths_.back(), group.is_array() ? std::to_string(group.size()) : std::string(name)));
  groups_.push_back(&put(name, json::object()));
}

std::size_t StateWriter::enter_list(std::string_view name, std::size_t size) {
  enter(name);
  *groups_.back() = json::array();
  // Groups inside must not move while they are written.
  groups_.back()->get_ref<json::array_t&>().reserve(size);
  return size;
}

void StateWriter::leave() {
  groups_.pop_back();
  paths_.pop_back();
}

// ---- Reading ------------------------------------------------------------------------------------

StateReader::StateReader(State state) : state_(std::move(state)) {
  groups_.push_back({&state_.json, ""});
  if (!state_.json.is_object()) {
    refuse_state("", "is not a JSON object");
  }
}

const json& StateReader::find(std::string_view name) {
  Group& group = groups_.back();
  if (group.json->is_array()) {
    path_ = joined(group.path, std::to_string(group.next));
    CHECK(group.next < group.json->size());
    return (*group.json)[group.next++];
  }
  path_ = joined(group.path, name);
  const auto found = group.json->find(std::string(name));
  if (found == group.json->end()) {
    refuse_state(path_, "is missing");
  }
  return *found;
}

void StateReader::flag(std::string_view name, bool& value) {
  const json& found = find(name);
  if (!found.is_boolean()) {
    refuse_state(path_, "is not true or false");
  }
  value = found.get<bool>();
}

void StateReader::whole(std::string_view name, std::uint64_t& value, std::uint64_t most) {
  const json& found = find(name);
  if (!found.is_number_unsigned() || found.get<std::uint64_t>() > most) {
    refuse_state(path_, "is not a whole number from 0 to " + std::to_string(most));
  }
  value = found.get<std::uint64_t>();
}

void StateReader::signed_whole(std::string_view name, std::int64_t& value) {
  const json& found = find(name);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!found.is_number_integer() ||
      (found.is_number_unsigned() && found.get<std::uint64_t>() > kMost)) {
    refuse_state(path_, "is not a whole number");
  }
  value = found.get<std::int64_t>();
}

void StateReader::real(std::string_view name, double& value) {
  const json& found = find(name);
  if (found.is_number()) {
    value = found.get<double>();
  } else if (found == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (found == "inf" || found == "-inf") {
    value = (found == "inf" ? 1.0 : -1.0) * std::numeric_limits<double>::infinity();
  } else {
    refuse_state(path_, "is not a number");
  }
}

void StateReader::text(std::string_view name, std::string& value) {
  const json& found = find(name);
  if (!found.is_string()) {
    refuse_state(path_, "is not a text");
  }
  value = found.get<std::string>();
}

void StateReader::floats(std::string_view name, std::vector<float>& values) {
  const json& found = find(name);
  if (!found.is_object() || !found.contains(kFloats) || !found[kFloats].is_number_unsigned()) {
    refuse_state(path_, "does not say how many floats there are");
  }
  const auto size = found[kFloats].get<std::uint64_t>();
  const auto tensor = state_.tensors.find(path_);
  const std::uint64_t there = tensor == state_.tensors.end() ? 0 : tensor->second.size();
  if (size != there) {
    refuse_state(
        path_, "has " + std::to_string(there) + " floats, and should have " + std::to_string(size));
  }
  if (!values.empty() && values.size() != size) {
    refuse_state(
        path_,
        "has " + std::to_string(size) + " floats, this job needs " + std::to_string(values.size()));
  }
  values = size == 0 ? std::vector<float>() : std::move(tensor->second);
}

void StateReader::enter(std::string_view name) {
  const json& found = find(name);
  if (!found.is_object()) {
    refuse_state(path_, "is not a group");
  }
  groups_.push_back({&found, path_});
}

std::size_t StateReader::enter_list(std::string_view name, std::size_t /*size*/) {
  const json& found = find(name);
  if (!found.is_array()) {
    refuse_state(path_, "is not a list");
  }
  groups_.push_back({&found, path_});
  return found.size();
}

void StateReader::leave() {
  groups_.pop_back();
}

}  // namespace outpace::checkpoint
