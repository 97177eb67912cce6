// One worker's weights in a gossip, and the meetings that its gradients want.
//
// The thread that computes gradients and the threads that talk to neighbours (meetings.h) share it.
// Which meeting is the next, and when none is wanted any more, peer/turns.h decides. Any thread may
// call anything; the sections say which does.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "peer/turns.h"
#include "protocol/traffic.h"

namespace outpace::collective {

class Replica {
 public:
  explicit Replica(std::vector<float> weights, peer::Turns turns = peer::Turns());

  // The present weights.
  [[nodiscard]] std::vector<float> weights() const;
  // The same, into memory that may be there already: fresh memory of this size costs page faults.
  void copy_weights(std::vector<float>& into) const;
  // What this worker shows of the run: the centre, if it holds it, or else its weights.
  [[nodiscard]] std::vector<float> shown() const;
  [[nodiscard]] std::size_t size() const;
  // Meetings of this worker's own that are over.
  [[nodiscard]] std::uint64_t meetings() const;

  // ---- The computing thread ----
  // It may want a meeting. If the last is still wanted, it is this one too.
  void begin_gradient();
  // Waits until the gradient may be applied, at most this long. Returns whether it may.
  [[nodiscard]] bool met_within(std::chrono::milliseconds most);
  // Averages the weights with those that came (push_in), and then steps. REQUIRES: the gradient may
  // be applied.
  void step(const std::function<void(std::vector<float>&)>& step);
  // Begins no further meeting of this worker's own, and waits until none is open. Other workers'
  // meetings go on.
  void end_meetings();

  // ---- The threads that talk to neighbours ----
  // A group exists: meetings may begin.
  void connected();
  // It does not any more.
  void disconnected();
  // Wakes the threads of the present group, because it is to be left.
  void leave_group();

  using Meeting = peer::Meeting;
  // Waits for the next meeting and begins it. Nothing: the group is to be left.
  [[nodiscard]] std::optional<Meeting> begin_meeting();
  void invited(std::uint32_t by);

  // How a meeting ends. `own`: of this worker's own.
  // Moves halfway: weights += (theirs - then) / 2, where `then` is what was sent.
  void meet_halfway(std::span<const float> then, std::span<const float> theirs, bool own);
  // This worker's own: moves halfway from its present weights to those that it pulled.
  void pulled(std::span<const float> theirs);
  // Elastic averaging. The centre is at first the initial weights; each worker knows it as of its
  // last meeting with it.
  // What a newcomer begins with: these weights or, with a centre, that as far as it is known here.
  [[nodiscard]] std::vector<float> for_newcomer(bool centre) const;
  // This worker is one, and begins with these. REQUIRES: of the same size.
  void begin_with(std::vector<float> weights);
  // From now on this worker holds the centre, or another does.
  void hold_centre(bool holds);
  // This worker's own: moves weights and centre towards each other. REQUIRES: it holds the centre.
  void meet_centre(float alpha);
  // The same where another worker holds the centre: `then` is what was sent.
  void meet_centre(std::span<const float> then, std::span<const float> centre, float alpha);
  // Moves the centre towards another worker's weights, and returns what it was, `as_sent`: this
  // changes it to what the other worker gets. Null: it gets the numbers themselves.
  using AsSent = std::function<void(std::vector<float>&)>;
  [[nodiscard]] std::vector<float> answer_of_centre(std::span<const float> theirs,
                                                    float alpha,
                                                    const AsSent& as_sent = nullptr);
  // This worker's own meeting is over, and nothing moved.
  void sent();
  // There is no meeting of this worker's own to be had.
  void skip();
  // Keeps another worker's weights for the next step().
  void push_in(std::span<const float> theirs);
  // Weights were sent to another worker in this many bytes.
  void carried(std::uint64_t bytes);
  // What was sent since the last call.
  [[nodiscard]] protocol::Carried take_carried();

 private:
  // REQUIRES: mutex_ is held.
  void over(bool own);

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::vector<float> weights_;
  std::vector<float> centre_;  // As far as this worker knows it; empty: the initial weights.
  bool holds_centre_ = false;
  std::vector<float> pushed_;  // The sum of what came since the last step.
  std::uint32_t pushes_ = 0;   // How many that were.
  peer::Turns turns_;
  protocol::Carried carried_;
  bool left_ = false;
};

}  // namespace outpace::collective
