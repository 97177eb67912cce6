#include "server/statistics.h"

namespace outpace::server {

void WorkerStatistics::keep(Archive& archive) {
  archive("incarnations", incarnations)("accepted", accepted)("dropped", dropped);
  archive("refused", refused)("filtered", filtered)("too_often", too_often);
  archive("cancelled", cancelled)("partial", partial)("lost", lost);
  archive("examples_applied", examples_applied)("compute_seconds", compute_seconds);
  archive("starved", starved)("stalls", stalls)("host", host);
}

void Statistics::keep(Archive& archive) {
  archive("updates", updates)("gradients_applied", gradients_applied);
  archive("gradients_dropped", gradients_dropped)("gradients_refused", gradients_refused);
  archive("examples_left_out", examples_left_out);
  archive("gradients_filtered", gradients_filtered)("gradients_cancelled", gradients_cancelled);
  archive("examples_applied", examples_applied)("clipped", clipped);
  archive("traffic_of_gradients", traffic.gradients)("traffic_of_weights", traffic.weights);
  archive("training_loss", training_loss)("gradient_noise_scale", gradient_noise_scale);
  archive("last_commit", last_commit)("staleness", staleness)("workers", workers);
  archive("epochs_complete", epochs_complete);
  archive("examples_used_per_epoch_min", examples_used_per_epoch_min);
  archive("examples_used_per_epoch_max", examples_used_per_epoch_max);
}

void Statistics::count_loss(std::optional<double> loss) {
  constexpr double kFresh = 0.02;  // The share of a new gradient in the mean.
  if (loss) {
    training_loss = training_loss ? *training_loss + kFresh * (*loss - *training_loss) : *loss;
  }
}

}  // namespace outpace::server
