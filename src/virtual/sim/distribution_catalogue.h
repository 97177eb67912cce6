// The list of all distributions of runtimes, with names, options and defaults. Makes one from text.
//
// A new distribution needs a class and one line in distribution_catalogue.cc. The help and the
// messages follow from that line.

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/option_doc.h"
#include "base/spec.h"
#include "sim/distribution.h"

namespace outpace::sim {

// Gives the text of a file that a spec names; throws an Error if there is none.
using ReadFile = std::function<std::string(const std::string& name)>;

class DistributionMaker;

struct DistributionEntry {
  std::string name;
  std::string rule;  // One sentence.
  std::vector<OptionDoc> options;
  std::unique_ptr<const Distribution> (*make)(SpecReader& options,
                                              const Spec& spec,
                                              const DistributionMaker& maker);
};

[[nodiscard]] std::span<const DistributionEntry> distribution_catalogue();

// Makes a distribution, and those inside of it, from "name(key=value,...)".
class DistributionMaker {
 public:
  explicit DistributionMaker(const ReadFile& read_file) : read_file_(read_file) {}

  // Reads every option and refuses the unknown ones. Throws a usage error on anything wrong.
  [[nodiscard]] std::unique_ptr<const Distribution> make(std::string_view text) const;
  [[nodiscard]] std::string read_file(const std::string& name) const { return read_file_(name); }

 private:
  DistributionMaker(const ReadFile& read_file, int depth) : read_file_(read_file), depth_(depth) {}

  const ReadFile& read_file_;
  int depth_ = 0;  // How many distributions this one is inside of.
};

}  // namespace outpace::sim
