#include "runtime_model/model_list.h"

#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "runtime_model/auto_model.h"
#include "runtime_model/calibrating.h"
#include "runtime_model/deep.h"
#include "runtime_model/deep_joint.h"
#include "runtime_model/elfving.h"
#include "runtime_model/ewma.h"
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

template <ElfvingFit kFit>
std::unique_ptr<RuntimeModel> make_elfving(const DeepWeights* /*deep*/) {
  return std::make_unique<Elfving>(kFit);
}

// Its normal is a guess: the changes of real runtimes are mostly small and sometimes large.
std::unique_ptr<RuntimeModel> make_last(const DeepWeights* /*deep*/) {
  return std::make_unique<Calibrating>(std::make_unique<Last>());
}

std::unique_ptr<RuntimeModel> make_joint(const DeepWeights* deep) {
  return std::make_unique<DeepJoint>(*deep);
}

std::unique_ptr<RuntimeModel> make_auto(const DeepWeights* deep) {
  std::vector<AutoModel::Candidate> candidates;
  candidates.push_back({.name = "switching", .model = make<Switching>(deep), .seconds = 18e-6});
  candidates.push_back({.name = "ewma", .model = make<Ewma>(deep), .seconds = 4e-6});
  candidates.push_back({.name = "last", .model = make_last(deep), .seconds = 3e-6});
  if (deep != nullptr) {
    candidates.push_back({.name = "deep", .model = make_deep(deep), .seconds = 12e-6});
  }
  return std::make_unique<AutoModel>(std::move(candidates));
}

constexpr bool kFitted = true;
constexpr const char* kDeep = "deep";
constexpr const char* kJoint = "deep-joint";

const Entry kCatalogue[] = {
    {"auto",
     "Runs switching, ewma and last, and deep if it was fitted, and uses the one that has "
     "predicted best recently.",
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
    {"last", "Each worker's last runtime, with a recalibrated spread.", !kFitted, make_last},
    {"elfving",
     "All workers identical and normal, with the last iteration's moments; a worker that was cut "
     "off is censored.",
     !kFitted,
     make_elfving<ElfvingFit::kCensored>},
    {"elfving-truncated",
     "As elfving, but the moments are those of the workers that arrived, as a truncated sample.",
     !kFitted,
     make_elfving<ElfvingFit::kTruncated>},
    {kDeep,
     "A deep Markov model of each worker's runtimes; all workers share weights fitted before the "
     "run.",
     kFitted,
     make_deep},
    {kJoint,
     "A deep Markov model of the whole cluster, as Teng and Wood have it: one state that emits all "
     "workers' runtimes; fitted to one cluster before the run.",
     kFitted,
     make_joint},
};

}  // namespace

std::span<const Entry> catalogue() {
  return kCatalogue;
}

std::string model_of(const DeepShape& shape) {
  return is_joint(shape) ? kJoint : kDeep;
}

bool takes(const std::string& model, const DeepShape& shape) {
  return model == model_of(shape) || (model == "auto" && !is_joint(shape));
}

namespace {

void check_weights(const Entry& entry, std::uint32_t workers, const DeepWeights* deep) {
  if (deep == nullptr) {
    if (entry.fitted) {
      throw usage_error("the runtime model '" + entry.name +
                        "' needs a file of weights; make one with `outpace fit --model " +
                        entry.name + "`");
    }
    return;
  }
  if (!takes(entry.name, deep->shape) && (entry.fitted || entry.name == "auto")) {
    throw usage_error("the runtime model '" + entry.name + "' cannot use weights of " +
                      model_of(deep->shape) + "; say model=" + model_of(deep->shape) +
                      ", or give another file");
  }
  if (entry.name == kJoint && deep->shape.workers != workers) {
    throw usage_error("the weights of 'deep-joint' were fitted to " +
                      std::to_string(deep->shape.workers) + " workers, and there are " +
                      std::to_string(workers) +
                      "; fit them to runtimes of this cluster, or use deep, which serves any");
  }
}

}  // namespace

std::unique_ptr<RuntimeModel> make_model(const std::string& name,
                                         std::uint32_t workers,
                                         const DeepWeights* deep) {
  std::vector<std::string> names;
  for (const Entry& entry : kCatalogue) {
    if (entry.name == name) {
      check_weights(entry, workers, deep);
      return entry.make(deep);
    }
    names.push_back(entry.name);
  }
  throw usage_error("no runtime model is called '" + name + "'" + suggestion(name, names));
}

}  // namespace outpace::runtime_model
