#include "job/work.h"

#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "protocol/messages.h"

namespace outpace::job {
namespace {

worker::PaceOptions pace_options(const Delays& delays, double factor) {
  if (delays.period <= Duration{}) {
    throw usage_error("--delays-period is 0s; it takes a duration above 0, such as 20ms");
  }
  return {.by = delays.by, .period = delays.period, .factor = factor};
}

}  // namespace

void declare(OptionList& options, Delays& delays) {
  options
      .add("delays",
           delays.file,
           "Replay stragglers from this CSV: a column for each worker, a row for each period, each "
           "value the seconds that a full mini-batch takes")
      .type("FILE");
  options.add("delays-by",
              delays.by,
              "time advances one row each --delays-period for all workers; iteration advances each "
              "worker by its own iterations");
  options.add("delays-period", delays.period, "How long a row of --delays lasts, by time");
  options.add("slow", delays.slow, "Slow a worker down, such as worker=3,factor=4 (repeatable)")
      .type("SPEC");
}

double slow_factor(const Delays& delays, std::uint32_t worker, std::uint32_t workers) {
  std::vector<worker::Slow> slow;
  slow.reserve(delays.slow.size());
  for (const std::string& text : delays.slow) {
    slow.push_back(worker::Slow::parse(text, workers));
  }
  return worker::slow_factor(slow, WorkerId{worker});
}

worker::DelayTrace delay_trace(const Delays& delays,
                               std::uint32_t workers,
                               const ReadFile& read_file) {
  return worker::DelayTrace::parse(read_file("delays", delays.file), delays.file, workers);
}

std::vector<worker::Pace> paces_of(const Delays& delays,
                                   std::uint32_t workers,
                                   const ReadFile& read_file) {
  std::optional<worker::DelayTrace> trace;
  if (!delays.file.empty()) {
    trace = delay_trace(delays, workers, read_file);
  }
  std::vector<worker::Pace> paces;
  paces.reserve(workers);
  for (std::uint32_t worker = 0; worker < workers; ++worker) {
    const worker::PaceOptions pace = pace_options(delays, slow_factor(delays, worker, workers));
    paces.push_back(trace ? worker::Pace(*trace, WorkerId{worker}, pace) : worker::Pace(pace));
  }
  return paces;
}

void declare_attacks(OptionList& options, std::vector<std::string>& attacks) {
  options
      .add("attack",
           attacks,
           "Make workers send wrong gradients on purpose: signflip:workers=0+1,scale=10, noise, "
           "zero or nan (repeatable)")
      .type("SPEC");
}

std::optional<SliceSize> Value<SliceSize>::parse(std::string_view text) {
  constexpr double kMost = 4.0 * protocol::kWeightsMax;
  const std::optional<double> bytes = text == "0" ? 0.0 : parse_bytes(text);
  return bytes && *bytes <= kMost
             ? std::optional(
                   SliceSize{static_cast<std::uint64_t>(std::ceil(*bytes)), std::string(text)})
             : std::nullopt;
}

void declare(OptionList& options, SliceSize& slice) {
  options.add(
      "slice",
      slice,
      "Send a gradient in slices of at least this size while the backward pass computes the "
      "rest, and begin the forward pass on the first weights; 0: send both whole");
}

void declare(OptionList& options, Work& work) {
  options.add("network", work.network, std::string("Network to train: ") + kNetworks);
  options.add("data", work.data, std::string("Data set to train on: ") + kDataSets);
  options
      .add("paced",
           work.paced,
           "Wait as long as the iterations of this profile took instead of computing; what is "
           "pushed has the size of its network's gradient")
      .type("FILE");
  options.add("threads", work.threads, "Threads of libtorch in each worker").between(1);
  declare(options, work.delays);
  declare_attacks(options, work.attacks);
}

bool waits_longer(const Work& work) {
  return !work.paced.empty() && work.delays.file.empty();
}

worker::Pace make_pace(const Work& work,
                       std::uint32_t worker,
                       std::uint32_t workers,
                       const ReadFile& read_file) {
  const double factor = slow_factor(work.delays, worker, workers);
  const worker::PaceOptions pace = pace_options(work.delays, waits_longer(work) ? 1.0 : factor);
  if (work.delays.file.empty()) {
    return worker::Pace(pace);
  }
  return {delay_trace(work.delays, workers, read_file), WorkerId{worker}, pace};
}

std::vector<worker::Attack> parse_attacks(const std::vector<std::string>& attacks,
                                          std::uint32_t workers) {
  std::vector<worker::Attack> parsed;
  parsed.reserve(attacks.size());
  for (const std::string& text : attacks) {
    parsed.push_back(worker::Attack::parse(text, workers));
  }
  return parsed;
}

void check(const Work& work, std::uint32_t workers, const ReadFile& read_file) {
  (void)make_pace(work, 0, workers, read_file);
  (void)parse_attacks(work.attacks, workers);
}

}  // namespace outpace::job
