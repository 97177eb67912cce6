// The steps of a Worker that are not for every trainer in C++: transfers in slices, which
// outpace/torch.h overlaps with computing, and a push in steps, for languages that cannot wait long
// at a time (outpace/worker_c.h).

#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

#include "outpace/worker.h"

namespace outpace::live {

struct WorkerSteps {
  using News = Worker::News;

  // As next_view(), but returns when the first weights are there, while others are on their way.
  // All are of one version. REQUIRES: no weight is read before wait_for() waited for it.
  [[nodiscard]] static std::optional<MinibatchView> next_early(Worker& worker) {
    return worker.next_early();
  }
  // Waits until the first `numbers` weights of the current mini-batch are there; weights come in
  // the parameters' order. Returns false if they will not come, because the connection was lost:
  // then abandon() the mini-batch. REQUIRES: a mini-batch. Throws WorkerError if there are fewer
  // weights.
  [[nodiscard]] static bool wait_for(Worker& worker, std::size_t numbers) {
    return worker.wait_for(numbers);
  }
  // gradient()[begin, end) is final: it may leave while the rest is computed. Numbers leave from
  // the end of the gradient to its front, those in front of others that are not final yet wait for
  // them. The gradient counts when push(gradient(), ...) follows, and abandon() discards it. Does
  // not wait for the network. REQUIRES: gradient() was called for the current mini-batch. Throws
  // WorkerError if these are no numbers of the gradient, or were final before.
  static void push_slice(Worker& worker, std::size_t begin, std::size_t end) {
    worker.push_slice(begin, end);
  }

  // While a copy of the result lives, MinibatchView::weights and gradient() of the current
  // mini-batch stay memory of this process: also after the push, and when the connection or this
  // worker is gone. Other numbers may be written there.
  [[nodiscard]] static std::shared_ptr<const void> memory(const Worker& worker) {
    return worker.memory();
  }
  // push(gradient(), loss) in steps, for a program that must look for signals meanwhile, or has
  // other work. start_push() sends the gradient. Memory for the next one may be asked for at once:
  // gradient(), which a lost connection makes void. await_news() waits at most this long until
  // finish_push() and next_view() need not wait. kLost: the connection is, and the next call of
  // next_view() joins again. REQUIRES: the gradient of a mini-batch was written into gradient().
  static void start_push(Worker& worker, std::optional<double> loss) { worker.start_push(loss); }
  [[nodiscard]] static News await_news(Worker& worker, std::chrono::nanoseconds most) {
    return worker.await_news(most);
  }
  static PushResult finish_push(Worker& worker) { return worker.finish_push(); }
  // Whether `outpace run --slow`, --delays or `outpace ctl RUN slow` make its calls sleep now.
  [[nodiscard]] static bool slowed(const Worker& worker) { return worker.slowed(); }
};

}  // namespace outpace::live
