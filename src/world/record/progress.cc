#include "record/progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"

namespace outpace::record {
namespace {

struct Field {
  std::string text;
  int importance;  // The least important is dropped first; among equals, the rightmost.
};

// The first few names, and the rest as a count.
std::string first_names(std::string text,
                        const std::vector<std::string>& names,
                        std::size_t shown) {
  for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > shown) {
    text += fmt::format(" +{}", names.size() - shown);
  }
  return text;
}

std::vector<Field> fields_of(const Status& status, std::size_t slow_shown) {
  std::vector<Field> fields;
  fields.push_back({shown::elapsed(status.seconds), 9});
  fields.push_back({"update " + shown::grouped(status.updates) +
                        (status.target_updates ? "/" + shown::grouped(*status.target_updates) : ""),
                    8});
  fields.push_back({fmt::format("epoch {:.1f}", status.epochs), 2});
  if (status.training_loss) {
    fields.push_back({"loss " + shown::brief(*status.training_loss), 4});
  }
  if (status.accuracy) {
    fields.push_back({"accuracy " + shown::percent(*status.accuracy), 7});
  }
  fields.push_back({shown::grouped(status.examples_per_second) + " ex/s", 3});
  // The number of workers is shown only if some are missing.
  fields.push_back({fmt::format("live {}/{}", status.live, status.workers),
                    status.live < status.workers ? 6 : 3});
  fields.push_back({fmt::format("stale {:.1f}", status.staleness_mean), 0});
  fields.push_back({"dropped " + shown::grouped(status.dropped), 1});
  if (!status.gain.empty()) {
    fields.push_back({status.gain, 4});
  }
  if (!status.slow.empty()) {
    fields.push_back({first_names("slow: ", status.slow, slow_shown), 5});
  }
  if (!status.stalled.empty()) {
    fields.push_back({first_names("stalled: ", status.stalled, slow_shown), 6});
  }
  return fields;
}

std::string join(const std::vector<Field>& fields) {
  std::string line;
  for (const Field& field : fields) {
    line += (line.empty() ? "" : "  ") + field.text;
  }
  return line;
}

}  // namespace

std::string progress_line(const Status& status, std::size_t width) {
  constexpr std::size_t kSlowNamed = 3;
  std::vector<Field> fields = fields_of(status, kSlowNamed);
  std::string line = join(fields);
  if (line.size() > width) {
    fields = fields_of(status, 1);
    line = join(fields);
  }
  while (line.size() > width && fields.size() > 1) {
    auto least = fields.begin();
    for (auto field = fields.begin(); field != fields.end(); ++field) {
      least = field->importance <= least->importance ? field : least;
    }
    fields.erase(least);
    line = join(fields);
  }
  return line.substr(0, width);
}

}  // namespace outpace::record
