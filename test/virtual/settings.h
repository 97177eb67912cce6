// Settings of every policy in the catalogue, for six workers: its defaults, and options at their
// ends and between, or drawn. For metamorphic_test.cc.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"
#include "policy/catalogue.h"
#include "runtime_model/model_list.h"

namespace outpace::sim {

inline constexpr std::uint32_t kSixWorkers = 6;

inline std::vector<std::string> dynamic_settings() {
  std::vector<std::string> specs{"dynamic",
                                 "dynamic:decide=before",
                                 "dynamic:decide=deadline",
                                 "dynamic:min=3,max=5",
                                 "dynamic:imputation=truncated",
                                 "dynamic:imputation=plain"};
  for (const runtime_model::Entry& entry : runtime_model::catalogue()) {
    if (!entry.fitted) {
      specs.push_back("dynamic:model=" + entry.name);
    }
  }
  return specs;
}

// What a policy is tried with; a policy without a row with what its entry draws.
inline std::vector<std::string> settings_of(const std::string& policy) {
  static const std::map<std::string, std::vector<std::string>> kSettings{
      {"sync", {"sync"}},
      {"backup", {"backup:cutoff=1", "backup:cutoff=4", "backup:cutoff=6"}},
      {"dynamic", dynamic_settings()},
      {"async", {"async"}},
      {"ksync", {"ksync:k=1", "ksync:k=5", "ksync:k=6"}},
      {"kbatchsync", {"kbatchsync:k=1", "kbatchsync:k=4", "kbatchsync:k=6"}},
      {"kasync", {"kasync:k=1", "kasync:k=4", "kasync:k=6"}},
      {"kbatchasync", {"kbatchasync:k=1", "kbatchasync:k=4", "kbatchasync:k=6"}},
      {"adasync",
       {"adasync:k=1",
        "adasync:k=3",
        "adasync:k=3,rule=kbatchasync",
        "adasync:k=3,rule=ksync",
        "adasync:k=3,rule=kbatchsync",
        "adasync:k=2,loss=test"}},
      {"softsync", {"softsync:n=1", "softsync:n=2", "softsync:n=6"}},
      {"ssp", {"ssp:s=0", "ssp:s=3"}},
      {"dssp", {"dssp:low=0,high=0", "dssp:low=1,high=6"}},
      {"psp", {"psp:beta=0", "psp:beta=2,s=1", "psp:beta=6", "psp:beta=6,s=2"}},
      {"saps",
       {"saps",
        "saps:s=2.5x",
        "saps:s=4",
        "saps:action=refresh",
        "saps:s=4,action=refresh",
        "saps:action=shrink",
        "saps:s=4,action=shrink",
        "saps:s=4,action=dampen"}},
      {"switch",
       {"switch(async until updates>200 then sync)",
        "switch(backup:cutoff=4 until updates>100 then ssp:s=1 until updates>300 then saps)"}},
  };
  const auto found = kSettings.find(policy);
  if (found != kSettings.end()) {
    return found->second;
  }
  Rng rng(1, 0);
  std::vector<std::string> drawn(3);
  for (std::string& spec : drawn) {
    spec = policy::draw_spec(policy::find(policy), rng, kSixWorkers);
  }
  return drawn;
}

inline std::vector<std::string> all_settings() {
  std::vector<std::string> all;
  for (const policy::Entry& entry : policy::catalogue()) {
    const std::vector<std::string> some = settings_of(entry.name);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace outpace::sim
