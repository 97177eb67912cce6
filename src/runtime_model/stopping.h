// When to stop waiting within an iteration.
//
// What is to be as large as can be is the long-run rate of gradients, sum(gradients) / sum(time).
// By renewal-reward (Dinkelbach 1967) that is done by stopping as soon as no way to go on is
// expected to bring more than it costs at the present rate lambda:
//
//   go on  iff  max over u > s of  E[arrivals in (s, u]] - lambda E[min(u, last arrival) - s]  >  0
//
// or, where gradients are not worth the same, with what those that are expected by u add to what
// have arrived (worth.h) in the place of their number, and lambda the rate of that.
//
// with everything conditioned on who has arrived by now, s, and who has not; also what all have in
// common, of which the first arrivals tell much. It is asked again at
// every tick, a hundredth of an iteration: waiting through a surprise is what a count decided
// beforehand cannot avoid.
//
// Of more than 256 workers that are out 256 stand for all, spread evenly over them in the order of
// their forecasts' medians: with two thousand a decision would else take longer than an iteration.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime_model/forecast.h"
#include "runtime_model/worth.h"

namespace outpace::runtime_model {

class Stopping {
 public:
  // For an iteration of these workers, whose forecast must outlive it; `rate` is lambda, in
  // worth a second. REQUIRES: at least one worker, rate > 0.
  void begin(const Forecast& forecast,
             std::span<const std::uint32_t> workers,
             double rate,
             const Worth& worth = {});

  // With so many gradients, and these workers still out, at `seconds` since the iteration began;
  // who is not among them any more has just arrived. REQUIRES: asked at every arrival, and times
  // in order.
  struct Outlook {
    bool stop = false;
    double again = 0.0;  // In seconds: if not, look again by then at the latest.
  };
  [[nodiscard]] Outlook look(double seconds,
                             std::uint32_t arrived,
                             std::span<const std::uint32_t> out);

  // The best deadline after `seconds`, if nobody asks again.
  struct Plan {
    double gain = 0.0;      // In worth, after what it costs.
    double arrivals = 0.0;  // Expected by then.
    double until = 0.0;     // In seconds.
  };
  // Only of deadlines by which so many are expected.
  [[nodiscard]] Plan best_plan(double seconds,
                               std::uint32_t arrived,
                               std::span<const std::uint32_t> out,
                               double at_least);

 private:
  // A shift that all workers may have in common, and how likely it is by who has arrived when.
  struct Likely {
    double bins;
    double log_chance;  // By the forecast and those who have arrived; not normalised.
    double chance;      // And by those who have not; they sum to 1.
  };
  // Some workers that stand for all these, and for how many each.
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
  std::vector<std::uint32_t> waited_for_;  // When it was last asked.
  std::vector<double> medians_;            // Of each worker's forecast, where it is asked for.
  double rate_ = 0.0;
  Worth worth_;
  double tick_ = 0.0;
  std::vector<double> edges_;  // Of the grid, in seconds.
  // In hand, by edge.
  std::vector<float> arrivals_;
  std::vector<float> all_;
  std::vector<float> all_of_one_;  // Shift.
  std::vector<double> in_order_;
  std::vector<bool> is_out_;
  std::vector<std::uint32_t> came_;
  std::vector<std::uint32_t> sorted_;
  std::vector<std::uint32_t> sampled_;
};

}  // namespace outpace::runtime_model
