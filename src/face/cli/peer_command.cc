#include <memory>

#include "cli/commands.h"
#include "cli/libtorch.h"
#include "cli/peer_role.h"
#include "job/live_job.h"

namespace outpace::cli {

Run add_peer(job::OptionList& list) {
  auto job = std::make_shared<job::PeerJob>();
  declare(list, *job);
  return [job](const job::OptionList& /*chosen*/) {
    be_peer(*job, learner());
    return 0;
  };
}

}  // namespace outpace::cli
