#include "admission/earlier_run.h"

namespace outpace::admission {

EarlierRun::Found EarlierRun::look_back(const protocol::Hello& worker,
                                        std::optional<Version> version) {
  if (worker.seen_job == 0 || worker.seen_version == Version{0}) {
    return {};  // It has computed for nobody.
  }
  const std::string reached = name(worker.worker) + " at " + worker.host + " had reached update " +
                              std::to_string(count(worker.seen_version));
  if (worker.seen_job != options_.job) {
    if (options_.begins_again) {
      return {.lost = reached + ", which is lost: the server had died before its first checkpoint",
              .would_begin_anew = ""};
    }
    if (version && *version > Version{0}) {
      return {};  // This run is under way: the worker changes jobs.
    }
    return {.lost = "",
            .would_begin_anew =
                reached +
                " of a run that this server would begin anew; go on with it by --resume "
                "RUN, or end its workers first"};
  }
  if (!resumed_at_ || version || worker.seen_version <= *resumed_at_) {
    return {};
  }
  const std::uint64_t lost = count(worker.seen_version) - count(*resumed_at_);
  if (lost <= lost_) {
    return {};
  }
  lost_ = lost;
  return {.lost = reached + ": " + std::to_string(lost) + (lost == 1 ? " update" : " updates") +
                  " after the checkpoint are lost, and computed again",
          .would_begin_anew = ""};
}

}  // namespace outpace::admission
