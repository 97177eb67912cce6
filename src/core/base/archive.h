// The state of a state machine, written and read by one function, so that the two cannot differ:
//
//   void keep(Archive& archive) { archive("version", version_)("rate", rate_); }
//
// What an archive is made of (JSON and safetensors) is in checkpoint/. Reading does not trust: a
// value that is missing, of another type or out of range throws an Error(kUnreadable) that names
// it. Vectors of float are told apart from other lists, because they may be as large as the
// weights; one that is not empty is read only in its present size.

#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace outpace {

class Archive;

template <typename T>
concept Kept = requires(T& value, Archive& archive) {
  value.keep(archive);
};

class Archive {
 public:
  Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  virtual ~Archive() = default;

  [[nodiscard]] virtual bool reads() const = 0;

  // Writes the value, or reads it. REQUIRES: no other value has this name in its group.
  template <typename T>
  Archive& operator()(std::string_view name, T& value) {
    if constexpr (std::same_as<T, bool>) {
      flag(name, value);
    } else if constexpr (std::is_enum_v<T>) {
      auto number = static_cast<std::underlying_type_t<T>>(value);
      (*this)(name, number);
      value = static_cast<T>(number);
    } else if constexpr (std::unsigned_integral<T>) {
      std::uint64_t number = value;
      whole(name, number, std::numeric_limits<T>::max());
      value = static_cast<T>(number);
    } else if constexpr (std::signed_integral<T>) {
      std::int64_t number = value;
      signed_whole(name, number);
      value = static_cast<T>(number);
    } else if constexpr (std::floating_point<T>) {
      double number = static_cast<double>(value);
      real(name, number);
      value = static_cast<T>(number);
    } else if constexpr (std::same_as<T, std::string>) {
      text(name, value);
    } else if constexpr (std::same_as<T, std::vector<float>>) {
      floats(name, value);
    } else {
      composite(name, value);
    }
    return *this;
  }

  // Several values under one name: `what` is called once.
  template <typename What>
  Archive& group(std::string_view name, const What& what) {
    enter(name);
    what();
    leave();
    return *this;
  }

 protected:
  virtual void flag(std::string_view name, bool& value) = 0;
  virtual void whole(std::string_view name, std::uint64_t& value, std::uint64_t most) = 0;
  virtual void signed_whole(std::string_view name, std::int64_t& value) = 0;
  virtual void real(std::string_view name, double& value) = 0;
  virtual void text(std::string_view name, std::string& value) = 0;
  virtual void floats(std::string_view name, std::vector<float>& values) = 0;
  virtual void enter(std::string_view name) = 0;
  // A group of values without names. Gives back how many it has: when writing, `size`.
  [[nodiscard]] virtual std::size_t enter_list(std::string_view name, std::size_t size) = 0;
  virtual void leave() = 0;

 private:
  static constexpr std::string_view kItem{};  // Values in a list have no names.

  template <typename Rep, typename Period>
  void composite(std::string_view name, std::chrono::duration<Rep, Period>& value) {
    std::int64_t ticks = value.count();
    signed_whole(name, ticks);
    value = std::chrono::duration<Rep, Period>{ticks};
  }
  template <typename Clock, typename Since>
  void composite(std::string_view name, std::chrono::time_point<Clock, Since>& value) {
    Since since = value.time_since_epoch();
    (*this)(name, since);
    value = std::chrono::time_point<Clock, Since>{since};
  }
  template <Kept T>
  void composite(std::string_view name, T& value) {
    group(name, [&] { value.keep(*this); });
  }
  template <typename A, typename B>
  void composite(std::string_view name, std::pair<A, B>& value) {
    group(name, [&] { (*this)("first", value.first)("second", value.second); });
  }
  template <typename T>
  void composite(std::string_view name, std::optional<T>& value) {
    const std::size_t size = enter_list(name, value ? 1 : 0);
    if (size == 0) {
      value.reset();
    } else if (!value) {
      value.emplace();
    }
    if (value) {
      (*this)(kItem, *value);
    }
    leave();
  }
  template <typename T>
  void composite(std::string_view name, std::vector<T>& values) {
    values.resize(enter_list(name, values.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value = std::move(values[i]);  // Also where the items are bits.
      (*this)(kItem, value);
      values[i] = std::move(value);
    }
    leave();
  }
  template <typename T>
  void composite(std::string_view name, std::deque<T>& values) {
    values.resize(enter_list(name, values.size()));
    for (T& value : values) {
      (*this)(kItem, value);
    }
    leave();
  }
  template <typename T, std::size_t N>
  void composite(std::string_view name, std::array<T, N>& values) {
    group(name, [&] {
      for (std::size_t i = 0; i < N; ++i) {
        (*this)(std::to_string(i), values[i]);
      }
    });
  }
  template <typename T>
  void composite(std::string_view name, std::set<T>& values) {
    std::vector<T> list(values.begin(), values.end());
    (*this)(name, list);
    values = std::set<T>(list.begin(), list.end());
  }
  template <typename K, typename V>
  void composite(std::string_view name, std::map<K, V>& values) {
    std::vector<std::pair<K, V>> list(values.begin(), values.end());
    (*this)(name, list);
    values = std::map<K, V>(list.begin(), list.end());
  }
};

}  // namespace outpace
