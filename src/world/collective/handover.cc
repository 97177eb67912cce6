// Tested by src/world/collective/newcomer_test.cc.
//
// A message of 16 bytes says how long the next two are: the state as JSON, with the names and sizes
// of its tensors; and the tensors, one after the other.

#include "collective/handover.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/state_archive.h"

namespace outpace::collective {
namespace {

using nlohmann::json;

// Tags of a pair's messages: no other conversation has them (peer/conversation.h).
constexpr std::uint32_t kSizes = 100;
constexpr std::uint32_t kHead = 101;
constexpr std::uint32_t kTensors = 102;
// An optimizer keeps a few numbers for each weight, and a few for each tensor.
constexpr std::uint64_t kHeadMost = std::uint64_t{64} << 20U;
constexpr std::uint64_t kNumbersMost = 16;
constexpr std::uint64_t kNumbersMore = std::uint64_t{1} << 20U;

using Sizes = std::array<std::uint64_t, 2>;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

[[noreturn]] void refuse(std::uint32_t from, const std::string& why) {
  throw Error(ExitCode::kFailure,
              "what the worker in place " + std::to_string(from) +
                  " of the group hands over cannot be used: " + why);
}

}  // namespace

void hand_over(GlooGroup& group, std::uint32_t to, const Keep& keep) {
  checkpoint::StateWriter writer;
  keep(writer);
  const checkpoint::State state = writer.take();
  json tensors = json::array();
  std::vector<float> numbers;
  for (const auto& [name, values] : state.tensors) {
    tensors.push_back({name, values.size()});
    numbers.insert(numbers.end(), values.begin(), values.end());
  }
  const std::string head = json{{"state", state.json}, {"tensors", tensors}}.dump();
  const Sizes sizes{head.size(), numbers.size()};
  group.send(to, kSizes, std::as_bytes(std::span(sizes)));
  group.send(to, kHead, bytes_of(head));
  if (!numbers.empty()) {
    group.send(to, kTensors, numbers);
  }
}

void take_over(GlooGroup& group, std::uint32_t from, std::size_t numbers, const Keep& keep) {
  Sizes sizes{};
  group.receive(from, kSizes, std::as_writable_bytes(std::span(sizes)));
  if (sizes[0] > kHeadMost || sizes[1] > kNumbersMost * numbers + kNumbersMore) {
    refuse(from, "it is too large");
  }
  std::string head(sizes[0], ' ');
  group.receive(from, kHead, std::as_writable_bytes(std::span(head.data(), head.size())));
  std::vector<float> all(sizes[1]);
  if (!all.empty()) {
    group.receive(from, kTensors, all);
  }
  json said = json::parse(head, nullptr, /*allow_exceptions=*/false);
  checkpoint::State state;
  try {
    state.json = std::move(said.at("state"));
    auto next = all.begin();
    for (const json& one : said.at("tensors")) {
      const auto count = one.at(1).get<std::uint64_t>();
      if (count > static_cast<std::uint64_t>(all.end() - next)) {
        refuse(from, "it is cut off");
      }
      const auto end = next + static_cast<std::ptrdiff_t>(count);
      state.tensors[one.at(0).get<std::string>()] = std::vector<float>(next, end);
      next = end;
    }
  } catch (const json::exception& error) {
    refuse(from, error.what());
  }
  checkpoint::StateReader reader(std::move(state));
  try {
    keep(reader);
  } catch (const Error& error) {
    refuse(from, error.what());
  }
}

}  // namespace outpace::collective
