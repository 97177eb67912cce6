// A state as JSON, and its vectors of float as named tensors beside it.
//
// A tensor's name is the path to it: "shard.optimizer.velocity". Numbers survive to the bit; those
// that JSON has no word for are "nan", "inf" and "-inf".

#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/archive.h"

namespace outpace::checkpoint {

using Tensors = std::map<std::string, std::vector<float>>;

struct State {
  nlohmann::json json = nlohmann::json::object();
  Tensors tensors;
};

class StateWriter final : public Archive {
 public:
  // The tensors of a state that is not needed any more lend their memory to those of the same name:
  // new memory costs the kernel longer than the copy.
  explicit StateWriter(Tensors spare = {});

  [[nodiscard]] bool reads() const override { return false; }
  // REQUIRES: every group was left.
  [[nodiscard]] State take() { return std::move(state_); }

 private:
  void flag(std::string_view name, bool& value) override;
  void whole(std::string_view name, std::uint64_t& value, std::uint64_t most) override;
  void signed_whole(std::string_view name, std::int64_t& value) override;
  void real(std::string_view name, double& value) override;
  void text(std::string_view name, std::string& value) override;
  void floats(std::string_view name, std::vector<float>& values) override;
  void enter(std::string_view name) override;
  std::size_t enter_list(std::string_view name, std::size_t size) override;
  void leave() override;

  nlohmann::json& put(std::string_view name, nlohmann::json value);

  State state_;
  Tensors spare_;
  std::vector<nlohmann::json*> groups_;  // From the outermost to the present one.
  std::vector<std::string> paths_;       // By group.
};

class StateReader final : public Archive {
 public:
  explicit StateReader(State state);

  [[nodiscard]] bool reads() const override { return true; }

 private:
  struct Group {
    const nlohmann::json* json;
    std::string path;
    std::size_t next = 0;  // Item of a list.
  };

  void flag(std::string_view name, bool& value) override;
  void whole(std::string_view name, std::uint64_t& value, std::uint64_t most) override;
  void signed_whole(std::string_view name, std::int64_t& value) override;
  void real(std::string_view name, double& value) override;
  void text(std::string_view name, std::string& value) override;
  // Moves the tensor out: it is read once.
  void floats(std::string_view name, std::vector<float>& values) override;
  void enter(std::string_view name) override;
  std::size_t enter_list(std::string_view name, std::size_t size) override;
  void leave() override;

  const nlohmann::json& find(std::string_view name);

  State state_;
  std::vector<Group> groups_;
  std::string path_;  // The path of the value that was found last.
};

}  // namespace outpace::checkpoint
