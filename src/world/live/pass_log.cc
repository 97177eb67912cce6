#include "live/pass_log.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace outpace::live {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string to_json(const NotedPasses& noted) {
  nlohmann::json json{{"examples", noted.examples},
                      {"needs", noted.needs},
                      {"tensors", nlohmann::json::array()},
                      {"passes", nlohmann::json::array()}};
  for (const protocol::TensorInfo& tensor : noted.manifest.tensors) {
    json["tensors"].push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  }
  for (const NotedPass& pass : noted.passes) {
    json["passes"].push_back({{"begin", pass.begin}, {"between", pass.between}, {"end", pass.end}});
  }
  return json.dump();
}

NotedPasses parse_noted(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    NotedPasses noted{.manifest = {}, .examples = json.at("examples").get<std::uint64_t>()};
    json.at("needs").get_to(noted.needs);
    for (const nlohmann::json& tensor : json.at("tensors")) {
      noted.manifest.tensors.push_back(
          {.name = tensor.at("name").get<std::string>(),
           .shape = tensor.at("shape").get<std::vector<std::uint64_t>>()});
    }
    for (const nlohmann::json& pass : json.at("passes")) {
      noted.passes.push_back({.begin = pass.at("begin").get<double>(),
                              .between = pass.at("between").get<std::vector<double>>(),
                              .end = pass.at("end").get<double>()});
    }
    return noted;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ExitCode::kFailure, std::string("the worker's notes are wrong: ") + error.what());
  }
}

void PassLog::joined(const protocol::Manifest& manifest, std::uint64_t examples) {
  if (!path_.empty()) {
    noted_ = {.manifest = manifest, .examples = examples};
  }
}

void PassLog::taken() {
  if (path_.empty()) {
    return;
  }
  pass_ = {.begin = seconds_now()};
  needs_.clear();
}

void PassLog::layer(std::size_t numbers, double seconds_ago) {
  if (path_.empty()) {
    return;
  }
  const double before = pass_.between.empty() ? pass_.begin : pass_.between.back();
  const double now = seconds_now();
  pass_.between.push_back(std::clamp(now - seconds_ago, before, std::max(before, now)));
  if (numbers != 0) {
    needs_.push_back(numbers);
  }
}

void PassLog::computed() {
  if (path_.empty()) {
    return;
  }
  pass_.end = seconds_now();
  noted_.passes.push_back(std::exchange(pass_, {}));
  noted_.needs = std::exchange(needs_, {});
}

void PassLog::close() {
  if (path_.empty() || std::exchange(closed_, true)) {
    return;
  }
  std::ofstream file(path_, std::ios::binary);
  file << to_json(noted_);
  file.close();
  if (!file) {
    throw Error(ExitCode::kFailure, "OUTPACE_PROFILE: " + path_ + " cannot be written");
  }
}

}  // namespace outpace::live
