// The answers of `outpace whatif`: which questions are asked of a run, and the answers as text, as
// JSON and as a picture.

#pragma once

#include <string>
#include <vector>

#include "job/whatif_job.h"
#include "policy/recorded_run.h"
#include "throughput/whatif.h"

namespace outpace::cli {

struct WhatIfReport {
  std::string run;                          // As the user named it.
  double measured = 0.0;                    // Examples per second.
  double replayed = 0.0;                    // Examples per second.
  std::string reached = {};                 // What the answers' seconds_to_reached are to.
  std::vector<throughput::Answer> answers;  // The first is the run as it was.
  std::vector<throughput::LostTo> lost;
  std::vector<std::string> notes;  // What the record does not say.
};

// Asks what the job asks; else for the run without each straggler, under other policies, and with
// twice the workers. Throws a usage error as WhatIf does.
[[nodiscard]] WhatIfReport report_whatif(policy::FoundRun found, const job::WhatifJob& job);

[[nodiscard]] std::string report_text(const WhatIfReport& report);
// One JSON object, and a line's end.
[[nodiscard]] std::string report_json(const WhatIfReport& report);
// An SVG document.
[[nodiscard]] std::string report_plot(const WhatIfReport& report);

}  // namespace outpace::cli
