#include "runtime_model/catalogue.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "runtime_model/auto_model.h"
#include "runtime_model/elfving.h"
#include "runtime_model/ewma.h"
#include "runtime_model/kalman.h"
#include "runtime_model/last.h"
#include "runtime_model/switching.h"

namespace outpace::runtime_model {
namespace {

template <typename Model>
std::unique_ptr<RuntimeModel> make() {
  return std::make_unique<Model>();
}

std::unique_ptr<RuntimeModel> make_auto() {
  std::vector<AutoModel::Candidate> candidates;
  candidates.push_back({.name = "switching", .model = make<Switching>()});
  candidates.push_back({.name = "ewma", .model = make<Ewma>()});
  candidates.push_back({.name = "last", .model = make<Last>()});
  return std::make_unique<AutoModel>(std::move(candidates));
}

const std::array<Entry, 6> kCatalogue{{
    {"auto",
     "Switching, ewma and last side by side; who foretold best of late is believed.",
     make_auto},
    {"switching", "A hidden level for each worker that stays, drifts or jumps.", make<Switching>},
    {"ewma", "Each worker's moving average, and residuals as there were.", make<Ewma>},
    {"kalman",
     "Factors that workers share, and noise of their own; linear, normal, filtered exactly.",
     make<Kalman>},
    {"last", "Each worker's last runtime.", make<Last>},
    {"elfving", "All workers alike and normal, with the last iteration's moments.", make<Elfving>},
}};

}  // namespace

std::span<const Entry> catalogue() {
  return kCatalogue;
}

std::unique_ptr<RuntimeModel> make_model(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : kCatalogue) {
    if (entry.name == name) {
      return entry.make();
    }
    names.push_back(entry.name);
  }
  throw usage_error("no runtime model is called '" + name + "'" + suggestion(name, names));
}

}  // namespace outpace::runtime_model
