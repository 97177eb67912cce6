#include "update/filter.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace outpace::update {
namespace {

using Filtering = FilterRule::Kind;

constexpr double kWithinMost = 1e6;
constexpr std::uint64_t kWrongMost = 1'000'000;  // More workers than any job has.

// In the order of FilterRule::Kind.
const std::array<FilterDoc, 5>& filter_table() {
  static const std::array<FilterDoc, 5> kDocs{{
      {"none", "", "every finite gradient counts", ""},
      {"kardam",
       "f=N,coefficient=own,within=2",
       "of an asynchronous policy's gradients, those that change with the weights no faster than "
       "the (n - f) / n quantile of the workers', and no worker twice in 2 f + 1",
       "Damaskinos et al., 'Asynchronous Byzantine Machine Learning', ICML 2018, section 3"},
      {"median",
       "",
       "an update's coordinate-wise median instead of its mean",
       "Yin, Chen, Ramchandran, Bartlett, 'Byzantine-Robust Distributed Learning', ICML 2018"},
      {"trimmed",
       "f=N",
       "the mean of each coordinate without its f least and f greatest values",
       "Yin, Chen, Ramchandran, Bartlett, 'Byzantine-Robust Distributed Learning', ICML 2018"},
      {"krum",
       "f=N,m=1",
       "the mean of the m gradients that are nearest to their n - f - 2 nearest",
       "Blanchard, El Mhamdi, Guerraoui, Stainer, 'Machine Learning with Adversaries', NeurIPS "
       "2017, section 4"},
  }};
  return kDocs;
}

}  // namespace

FilterRule FilterRule::parse(const Spec& spec) {
  std::vector<std::string> names;
  names.reserve(filter_table().size());
  for (const FilterDoc& doc : filter_table()) {
    names.push_back(doc.name);
  }
  const auto found = std::find(names.begin(), names.end(), spec.name);
  if (found == names.end()) {
    throw usage_error("unknown filter '" + spec.name + "'" + suggestion(spec.name, names));
  }
  SpecReader reader("filter", spec);
  FilterRule rule;
  rule.kind_ = static_cast<Filtering>(found - names.begin());
  if (rule.kind_ != Filtering::kNone && rule.kind_ != Filtering::kMedian) {
    rule.f_ = static_cast<std::uint32_t>(reader.count("f", std::nullopt, 1, kWrongMost));
  }
  if (rule.kind_ == Filtering::kKardam) {
    const std::array<std::string, 2> whose{"own", "server"};
    rule.of_server_ = reader.word("coefficient", whose, "own") == "server";
    const double within = reader.number("within", 2.0, 0.0, kWithinMost);
    if (within > 0.0 && within < 1.0) {
      throw usage_error(
          "filter kardam: within is a factor of at least 1, or 0 for the way as it is");
    }
    rule.within_ = within > 0.0 ? within : std::numeric_limits<double>::infinity();
  } else if (rule.kind_ == Filtering::kKrum) {
    rule.m_ = static_cast<std::uint32_t>(reader.count("m", 1, 1, kWrongMost));
  }
  reader.finish();
  return rule;
}

const std::string& FilterRule::name() const {
  return filter_table()[static_cast<std::size_t>(kind_)].name;
}

bool FilterRule::combines() const {
  return kind_ == Filtering::kMedian || kind_ == Filtering::kTrimmed || kind_ == Filtering::kKrum;
}

std::uint32_t FilterRule::gradients_least() const {
  switch (kind_) {
    case Filtering::kNone:
    case Filtering::kKardam:
      break;
    case Filtering::kMedian:
      return 3;
    case Filtering::kTrimmed:
      return 2 * f_ + 1;
    case Filtering::kKrum:
      return std::max(2 * f_ + 3, f_ + 2 + m_);
  }
  return 1;
}

void check_suits(const FilterRule& rule, const FilterUse& use) {
  const std::string beside = "--filter " + rule.name() + " beside ";
  if (rule.kind() == Filtering::kKardam) {
    if (!use.asynchronous) {
      throw usage_error(beside + "--policy " + use.policy +
                        ": kardam is for asynchronous policies; take median, trimmed or krum");
    }
    if (use.workers < 3 * rule.f() + 1) {
      throw usage_error("--filter kardam:f=" + std::to_string(rule.f()) + " takes at least " +
                        std::to_string(3 * rule.f() + 1) + " workers, 3 f + 1, and --workers is " +
                        std::to_string(use.workers));
    }
  }
  if (use.cutoff < rule.gradients_least()) {
    throw usage_error(beside + "--policy " + use.policy + ": its updates are of " +
                      std::to_string(use.cutoff) + (use.cutoff == 1 ? " gradient" : " gradients") +
                      ", and this filter takes at least " + std::to_string(rule.gradients_least()) +
                      (use.asynchronous ? "; kardam filters single gradients" : ""));
  }
  if (rule.combines() && use.stale.kind() == StalenessRule::Kind::kDynSgd) {
    throw usage_error(beside +
                      "--staleness dynsgd: its gradients are differences of means, which "
                      "are added up; take another rule, or kardam");
  }
}

std::span<const FilterDoc> filters() {
  return filter_table();
}

}  // namespace outpace::update
