// An archive in memory: for the simulator, whose servers die and go on, and for tests. It holds
// what was written to the order and the names in which it is read.

#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/archive.h"
#include "base/check.h"

namespace outpace {

class MemoryArchive final : public Archive {
 public:
  [[nodiscard]] bool reads() const override { return reads_; }

  // What was written is read from its start.
  void rewind() {
    reads_ = true;
    next_ = 0;
  }
  [[nodiscard]] bool at_end() const { return next_ == values_.size(); }

 private:
  struct Group {
    bool operator==(const Group&) const = default;
  };
  using Value = std::
      variant<bool, std::uint64_t, std::int64_t, double, std::string, std::vector<float>, Group>;
  struct Named {
    std::string name;
    Value value;
  };

  void flag(std::string_view name, bool& value) override { pass(name, value); }
  void whole(std::string_view name, std::uint64_t& value, std::uint64_t /*most*/) override {
    pass(name, value);
  }
  void signed_whole(std::string_view name, std::int64_t& value) override { pass(name, value); }
  void real(std::string_view name, double& value) override { pass(name, value); }
  void text(std::string_view name, std::string& value) override { pass(name, value); }
  void floats(std::string_view name, std::vector<float>& values) override { pass(name, values); }
  void enter(std::string_view name) override {
    Group group;
    pass(name, group);
    names_.emplace_back();
  }
  std::size_t enter_list(std::string_view name, std::size_t size) override {
    std::uint64_t count = size;
    pass(name, count);
    names_.emplace_back();
    return count;
  }
  void leave() override { names_.pop_back(); }

  template <typename T>
  void pass(std::string_view name, T& value) {
    if (!reads_) {
      CHECK(name.empty() || names_.back().emplace(name).second);  // Once in a group.
      values_.push_back({std::string(name), value});
      return;
    }
    CHECK(next_ < values_.size() && values_[next_].name == name);
    value = std::get<T>(values_[next_++].value);
  }

  bool reads_ = false;
  std::size_t next_ = 0;
  std::vector<Named> values_;
  std::vector<std::set<std::string>> names_{1};  // The names in each group that is open.
};

}  // namespace outpace
