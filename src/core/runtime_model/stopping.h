// When to stop waiting within an iteration.
//
// The goal is the largest long-run rate of gradients, sum(gradients) / sum(time). By renewal-reward
// (Dinkelbach 1967) the optimal rule stops as soon as no further wait is expected to gain more than
// it costs at the present rate lambda:
//
//   go on  iff  max over u > s of  E[arrivals in (s, u]] - lambda E[min(u, last arrival) - s]  >  0
//
// All expectations are conditioned on which workers have arrived by now, s, and which have not, and
// on the common shift, of which the first arrivals tell much. If gradients differ in worth
// (worth.h), the expected gain in worth replaces the number of arrivals, and lambda is the rate of
// worth.
//
// The question is asked again at every tick, a hundredth of an iteration. A count decided before
// the iteration cannot avoid waiting through a surprise; this rule can.
//
// If more than 256 workers are out, 256 stand for all, spread evenly over them in the order of
// their forecasts' medians. Otherwise a decision among two thousand would take longer than an
// iteration.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/forecast.h"
#include "runtime_model/worth.h"

namespace outpace::runtime_model {

class Stopping {
 public:
  // Begins an iteration of these workers. `forecast` must outlive it; `rate` is lambda, in worth
  // per second. REQUIRES: at least one worker, rate > 0.
  void begin(const Forecast& forecast,
             std::span<const std::uint32_t> workers,
             double rate,
             const Worth& worth = {});

  // Decides with `arrived` gradients and the workers in `out` still computing, `seconds` since the
  // iteration began. A worker that is no longer in `out` has just arrived. REQUIRES: called at
  // every arrival, with times that never decrease.
  struct Outlook {
    bool stop = false;
    double again = 0.0;  // In seconds; if not stop, ask again by then at the latest.
  };
  [[nodiscard]] Outlook look(double seconds,
                             std::uint32_t arrived,
                             std::span<const std::uint32_t> out);

  // The best deadline after `seconds` if it could not be changed later.
  struct Plan {
    double gain = 0.0;      // Worth gained, less the cost of waiting.
    double arrivals = 0.0;  // Expected by then.
    double until = 0.0;     // In seconds.
  };
  // Considers only deadlines by which at least `at_least` arrivals are expected.
  [[nodiscard]] Plan best_plan(double seconds,
                               std::uint32_t arrived,
                               std::span<const std::uint32_t> out,
                               double at_least);

 private:
  // A possible common shift, and how likely it is given the arrivals so far.
  struct Likely {
    double bins;
    double log_chance;  // Given the forecast and the arrivals; not normalised.
    double chance;      // Given also that the others have not arrived; these sum to 1.
  };
  // A sample of workers; each stands for `weight` of them.
  struct Sample {
    std::span<const std::uint32_t> workers;
    double weight = 1.0;
  };
  [[nodiscard]] Sample sample(std::span<const std::uint32_t> all);
  [[nodiscard]] Plan best_plan_of(double seconds,
                                  std::uint32_t arrived,
                                  const Sample& out,
                                  double at_least);
  void take_in_arrivals(double seconds, std::span<const std::uint32_t> out);
  void weigh(double seconds, const Sample& out);

  const Forecast* forecast_ = nullptr;
  std::vector<Likely> shifts_;
  std::vector<std::uint32_t> waited_for_;  // At the last call.
  std::vector<double> medians_;            // By worker: its forecast's median, where needed.
  double rate_ = 0.0;
  Worth worth_;
  double tick_ = 0.0;
  std::vector<double> edges_;  // The grid's edges, in seconds.
  // Scratch space, by edge.
  std::vector<float> arrivals_;
  std::vector<float> all_;
  std::vector<float> all_of_one_;  // For one shift.
  std::vector<double> in_order_;
  std::vector<bool> is_out_;
  std::vector<std::uint32_t> came_;
  std::vector<std::uint32_t> sorted_;
  std::vector<std::uint32_t> sampled_;
};

}  // namespace outpace::runtime_model
