// A profile whose iterations all take equally long, for tests that know what follows from it.

#pragma once

#include "throughput/measured_profile.h"

namespace outpace::throughput {

// 8 examples in 20 ms, of a thousand numbers; all else costs next to nothing.
inline MeasuredProfile even_profile() {
  MeasuredProfile profile;
  profile.network = "mlp";
  profile.data = "fashion-mnist";
  profile.batch = 8;
  profile.dataset_examples = 1000;
  profile.manifest.tensors = {{.name = "w", .shape = {1000}}};
  profile.iterations.assign(10, {.compute_seconds = 0.02, .rest_seconds = 0.001});
  profile.apply_seconds = 1e-5;
  profile.message_seconds = 1e-4;
  profile.byte_seconds = 1e-9;
  return profile;
}

}  // namespace outpace::throughput
