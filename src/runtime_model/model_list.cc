#include "runtime_model/model_list.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "runtime_model/auto_model.h"
#include "runtime_model/deep.h"
#include "runtime_model/elfving.h"
#include "runtime_model/ewma.h"
#include "runtime_model/kalman.h"
#include "runtime_model/last.h"
#include "runtime_model/switching.h"

namespace outpace::runtime_model {
namespace {

template <typename Model>
std::unique_ptr<RuntimeModel> make(const DeepWeights* /*deep*/) {
  return std::make_unique<Model>();
}

std::unique_ptr<RuntimeModel> make_deep(const DeepWeights* deep) {
  return std::make_unique<Deep>(*deep);
}

std::unique_ptr<RuntimeModel> make_auto(const DeepWeights* deep) {
  std::vector<AutoModel::Candidate> candidates;
  candidates.push_back({.name = "switching", .model = make<Switching>(deep), .seconds = 18e-6});
  candidates.push_back({.name = "ewma", .model = make<Ewma>(deep), .seconds = 4e-6});
  candidates.push_back({.name = "last", .model = make<Last>(deep), .seconds = 1e-6});
  if (deep != nullptr) {
    candidates.push_back({.name = "deep", .model = make_deep(deep), .seconds = 12e-6});
  }
  return std::make_unique<AutoModel>(std::move(candidates));
}

constexpr bool kFitted = true;

const std::array<Entry, 7> kCatalogue{{
    {"auto",
     "Runs switching, ewma and last, and deep if it was fitted, and uses the one that has "
     "predicted "
     "best recently.",
     !kFitted,
     make_auto},
    {"switching",
     "A hidden level for each worker that stays, drifts or jumps.",
     !kFitted,
     make<Switching>},
    {"ewma",
     "Each worker's moving average, plus past residuals of all workers.",
     !kFitted,
     make<Ewma>},
    {"kalman",
     "Factors that workers share, plus noise of each worker; linear, normal, filtered exactly.",
     !kFitted,
     make<Kalman>},
    {"last", "Each worker's last runtime.", !kFitted, make<Last>},
    {"elfving",
     "All workers identical and normal, with the last iteration's moments.",
     !kFitted,
     make<Elfving>},
    {"deep",
     "A deep Markov model of each worker's runtimes; all workers share weights fitted before the "
     "run.",
     kFitted,
     make_deep},
}};

}  // namespace

std::span<const Entry> catalogue() {
  return kCatalogue;
}

std::unique_ptr<RuntimeModel> make_model(const std::string& name, const DeepWeights* deep) {
  std::vector<std::string> names;
  for (const Entry& entry : kCatalogue) {
    if (entry.name == name) {
      if (entry.fitted && deep == nullptr) {
        throw usage_error("the runtime model '" + name +
                          "' needs a file of weights; make one with `outpace fit`");
      }
      return entry.make(deep);
    }
    names.push_back(entry.name);
  }
  throw usage_error("no runtime model is called '" + name + "'" + suggestion(name, names));
}

}  // namespace outpace::runtime_model
