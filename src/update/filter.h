// What is done about workers whose gradients are wrong, by fault or by intent: up to f of them may
// send anything. Kardam judges each gradient as it comes (kardam.h), for asynchronous policies;
// median, trimmed and krum take the place of an update's mean (robust_mean.h), for those whose
// updates are of several gradients.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/spec.h"
#include "update/staleness.h"

namespace outpace::update {

// A value: rule and parameters. Specs: "none", "kardam:f=2", "median", "trimmed:f=2",
// "krum:f=2,m=1".
class FilterRule {
 public:
  enum class Kind : std::uint8_t { kNone, kKardam, kMedian, kTrimmed, kKrum };

  // Throws a usage error that names the nearest rule.
  static FilterRule parse(const Spec& spec);
  static FilterRule none() { return {}; }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const std::string& name() const;
  // Workers that may be wrong; meaningful but for none and median.
  [[nodiscard]] std::uint32_t f() const { return f_; }
  // Gradients that krum takes the mean of.
  [[nodiscard]] std::uint32_t m() const { return m_; }
  // Whose coefficient kardam compares: the server's, or the worker's own.
  [[nodiscard]] bool of_server() const { return of_server_; }
  // Factor from the usual way within which kardam counts a way; infinity: as it is.
  [[nodiscard]] double within() const { return within_; }
  // It takes the place of the mean.
  [[nodiscard]] bool combines() const;
  // Gradients of an update without which it would protect from nobody. 1: any.
  [[nodiscard]] std::uint32_t gradients_least() const;

 private:
  Kind kind_ = Kind::kNone;
  std::uint32_t f_ = 0;
  std::uint32_t m_ = 1;
  bool of_server_ = false;
  double within_ = 2.0;
};

// What a filter is used with.
struct FilterUse {
  std::string policy;          // As it was written.
  bool asynchronous;           // The policy is.
  std::uint32_t workers;       // Planned.
  std::uint32_t cutoff;        // Gradients of a typical update.
  const StalenessRule& stale;  // In force.
};
// Throws a usage error if the filter would be of no use there.
void check_suits(const FilterRule& rule, const FilterUse& use);

struct FilterDoc {
  std::string name;
  std::string options;
  std::string rule;
  std::string source;
};
[[nodiscard]] std::span<const FilterDoc> filters();

}  // namespace outpace::update
