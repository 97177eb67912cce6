#include <memory>

#include "cli/commands.h"
#include "job/doctor_job.h"
#include "run/doctor_run.h"

namespace outpace::cli {

Run add_doctor(job::OptionList& list) {
  auto job = std::make_shared<job::DoctorJob>();
  declare(list, *job);
  return [job](const job::OptionList& /*chosen*/) { return run::doctor_run(*job); };
}

}  // namespace outpace::cli
