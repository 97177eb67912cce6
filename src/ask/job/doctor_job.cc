#include "job/doctor_job.h"

namespace outpace::job {

void declare(OptionList& options, DoctorJob& job) {
  options.add("out", job.out, "Folder in which runs would be recorded").type("DIR");
  options.add("python", job.python, "The Python of your scripts; empty: look at none")
      .type("PROGRAM");
  options
      .add("server",
           job.server,
           "Try to reach the server, or anything that listens, at this address")
      .type("HOST:PORT");
  options
      .add("code-file",
           job.code_file,
           "Try to join by the code in this file, and take no number: its addresses, TLS, the pass")
      .type("FILE");
}

}  // namespace outpace::job
