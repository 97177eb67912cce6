// A worker's live connection to the server: joins, beats its heart, and hands releases to the one
// thread that computes.
//
// Threads: the transport's thread feeds the inbox, a thread of the session sends heartbeats (so
// that a long backward pass does not look dead), and the caller's thread computes. They share only
// the inbox, which one mutex guards.

#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "compress/format.h"
#include "live/leaving.h"
#include "live/push_packer.h"
#include "live/reaching.h"
#include "protocol/constants.h"
#include "protocol/messages.h"
#include "wire/kept_numbers.h"
#include "wire/tls_files.h"
#include "wire/transport.h"
#include "wire/transports.h"
#include "worker/inbox.h"
#include "worker/slices.h"

namespace outpace::live {

struct SessionOptions {
  std::string server;  // "HOST:PORT" or "unix:PATH".
  std::string token;
  wire::TlsFiles tls;  // The worker's; empty: no TLS.
  WorkerId worker{};
  std::uint64_t process = 0;                     // As in protocol::Hello.
  Duration deadline = std::chrono::seconds(60);  // To be welcomed.
  // The last release that this worker had, over whatever connection:
  std::uint64_t seen_job = 0;
  Version seen_version{};
  Leaving* leaving = nullptr;  // The process's, which may be told to end; outlives the session.
  Duration keep_alive = wire::kKeepAlive;                 // As in wire::ConnectOptions.
  std::optional<std::size_t> connections = std::nullopt;  // As in wire::ConnectOptions.
  // At least this much of a gradient is sent at a time, while the rest is computed; a task comes
  // before all of its weights are there. 0: both travel whole.
  std::uint64_t slice_bytes = 0;
  std::shared_ptr<wire::KeptNumbers> kept = nullptr;  // As in wire::ConnectOptions.
  // How gradients are packed; nothing: as the job says.
  std::optional<compress::Compression> compress{};
  std::shared_ptr<PushPacker> packer = nullptr;  // The process's; null: this session makes one.
  // Null, or called: once it is welcomed, before it brings weights;
  std::function<void(const protocol::Welcome&)> welcomed = nullptr;
  std::function<void()> came = nullptr;  // and after whatever comes, on any thread.
  // Once `leaving` is asked, no connection is waited for any more. Else the process ends then.
  bool stops_joining = false;
};

// A part of the state that another training's optimizer has left.
struct BroughtState {
  protocol::OptimizerState of;
  std::vector<float> numbers;
};
// What a worker brings to the job.
struct Offer {
  protocol::Manifest manifest;
  std::uint64_t dataset_examples = 0;
  // Called only if the job has none, by the constructor or by next().
  std::function<std::vector<float>()> initial_weights;
  std::function<std::string()> constants = nullptr;  // Called before; null: there are none.
  std::function<std::vector<BroughtState>()> state = nullptr;  // The same.
  protocol::Script script{};
  bool wants_evaluator = false;
  std::uint32_t ahead = 0;  // As in protocol::Hello, and the next one.
  bool steps_locally = false;
  std::uint32_t local_steps = 0;
  std::uint32_t stands_for = 1;
};

// The server counted this worker as dead, or the connection broke. The worker may join again.
class ConnectionLost : public Error {
 public:
  explicit ConnectionLost(const std::string& why) : Error(ExitCode::kFailure, why) {}
};

class WorkerSession {
 public:
  // Connects and waits for the welcome, or for the news that the run is over, which next() then
  // says. Throws Error: kAuthentication, kIncompatible, or kFailure.
  WorkerSession(const SessionOptions& options, const Offer& offer);
  ~WorkerSession();
  WorkerSession(const WorkerSession&) = delete;
  WorkerSession& operator=(const WorkerSession&) = delete;

  // Whether the run goes on, or did when this worker came.
  [[nodiscard]] bool welcomed() const { return welcome_.has_value(); }
  // REQUIRES: welcomed().
  [[nodiscard]] const protocol::Welcome& welcome() const { return *welcome_; }

  struct Task {
    protocol::Release release;
    // In the manifest's order; with slices, only those that wait_for_weights() waited for. They may
    // lie where the server published them: drop them as soon as they are not needed any more,
    // before the answer if possible.
    wire::Numbers weights;
  };
  // How many times as long the server wants this worker to take (protocol::SlowDown); mostly 1.
  [[nodiscard]] double slowness() const { return slowness_.load(); }
  // Waits for the next release; nothing when the run is over, or the process is told to end. Throws
  // ConnectionLost.
  [[nodiscard]] std::optional<Task> next();

  // Whether the first `numbers` of the current task's weights are there.
  [[nodiscard]] bool weights_are_there(std::size_t numbers) const;
  // What came as protocol::Constants before the first task; empty if nothing did. The second call
  // returns nothing. REQUIRES: next() has returned a task.
  [[nodiscard]] std::string take_constants();
  // The numbers as a vector, in kept memory if they must be copied.
  [[nodiscard]] std::vector<float> take(wire::Numbers numbers) {
    return std::move(numbers).take(kept_.get());
  }
  // Waits for them; false if the task is to be abandoned first.
  [[nodiscard]] bool wait_for_weights(std::size_t numbers);

  // Whether the current task should be given up, because the server asked for that or is gone, or
  // the process is told to end. It is cheap: poll it between layers.
  [[nodiscard]] worker::CancelMode cancelled() const { return cancelled_.load(); }
  // Sleeps until the run's clock shows `time`, or a cancel; says which mode of cancel it was.
  worker::CancelMode sleep_until(Time time);
  // The run's clock, as near as messages tell: it starts when the first weights are handed out.
  [[nodiscard]] Time now() const;

  struct Result {
    std::uint32_t examples;
    bool partial;
    std::optional<double> loss;
    double compute_seconds;
    std::vector<std::uint32_t> without{};  // As protocol::Push has it, and the next two.
    protocol::Ranges covers{};
    std::uint32_t stands_for = 0;
  };
  // Memory for the next gradient, the same until it is pushed. Where server and worker share
  // memory, the server reads it there.
  [[nodiscard]] std::span<float> gradient();
  // While a copy lives, gradient() stays memory of this process, though others may write there.
  // Null if it was not asked for.
  [[nodiscard]] std::shared_ptr<const void> gradient_memory() const { return gradient_.memory; }
  // Whether what push_slice() is told is sent, or waits for push() all the same.
  [[nodiscard]] bool slices() const { return options_.slice_bytes > 0 && transport_->slices(); }
  // Numbers [begin, end) of gradient() are final, and may be sent while the rest is computed. They
  // count if a push() without a gradient follows, and not if abandon() does. Throws a usage error
  // if they are not numbers of the gradient, or were final before.
  void push_slice(std::size_t begin, std::size_t end);
  // Whether some of the current gradient has been sent.
  [[nodiscard]] bool slice_sent() const { return slices_.begun(); }
  // Answers the current task with what was written there, and waits for the verdict; nothing if the
  // run ended first.
  std::optional<protocol::Verdict> push(const Result& result);
  // The same with a gradient that lies elsewhere. Its memory is kept for the next numbers.
  // REQUIRES: no slice was sent.
  std::optional<protocol::Verdict> push(const Result& result, std::vector<float> gradient);
  // The same in steps: sends what was written to gradient(), and does not wait.
  void start_push(const Result& result);
  enum class News : std::uint8_t { kNone, kReady, kLost };
  // Waits at most this long until finish_push() and next() need not wait. kLost: the connection is,
  // or the server counted this worker as dead.
  [[nodiscard]] News await_news(Duration most);
  // Waits for the verdict, as push().
  [[nodiscard]] std::optional<protocol::Verdict> finish_push();
  void abandon(protocol::GivenUp why = protocol::GivenUp::kUnwanted);
  // What a script says while it trains.
  void tell(const protocol::Rates& rates);
  void ask_for_evaluator();
  // Leaves the job: the server counts this worker no longer. Waits until it has heard so, at most
  // some seconds. REQUIRES: no other call comes after.
  void leave();

 private:
  void hear_of_leaving();
  void hear_no_more_of_leaving() {
    if (options_.leaving != nullptr) {
      options_.leaving->on_ask(nullptr);
    }
  }
  void receive(wire::ConnectionEvent event);
  void tried(const std::string& why);
  // Waits for the welcome, or news of the end.
  void await_welcome();
  void weights_came(std::uint64_t arrived);
  // REQUIRES: mutex_ is held.
  [[nodiscard]] bool are_there(std::size_t numbers) const;
  void deliver(wire::Received received);
  // How the current task is to be given up now. REQUIRES: mutex_ is held.
  [[nodiscard]] worker::CancelMode cancel_mode() const;
  void give_up(worker::CancelMode how);
  // The server has said so. REQUIRES: mutex_ is held.
  [[nodiscard]] bool is_over() const;
  void send_initial_weights();
  // `sent`: numbers of the gradient, of its end, that went in slices.
  void send(const Result& result, wire::Room gradient, std::size_t sent);
  // Numbers of the gradient from `begin` on, packed if they are to be. Returns the front, which
  // goes with the push; empty if `begin` is not 0.
  wire::Payload send_slices(std::size_t begin,
                            std::span<const float> numbers,
                            const std::shared_ptr<const void>& keeper);
  void send_slice(std::size_t begin, wire::Payload payload);
  void beat(const std::stop_token& stop);
  [[nodiscard]] protocol::GradientId identity() const;
  [[noreturn]] void throw_closed() const;

  // Constant after construction.
  SessionOptions options_;
  const std::shared_ptr<wire::KeptNumbers> kept_;  // Shared with the transport.
  const std::function<std::vector<float>()> initial_weights_;
  const std::function<std::string()> constants_;
  const std::function<std::vector<BroughtState>()> state_;
  const std::uint64_t numbers_;               // In the weights, and in a gradient.
  const std::shared_ptr<PushPacker> packer_;  // The computing thread's.
  std::optional<protocol::Welcome> welcome_;  // The first; never set once constructed.
  Reaching reaching_;                         // For the transport's thread.
  // State below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  worker::Inbox inbox_;
  wire::Numbers weights_;       // The newest release's.
  std::uint64_t arrived_ = 0;   // How many of these have arrived.
  protocol::Assembly came_;     // Constants.
  bool needs_weights_ = false;  // The server has none, or none any more.
  bool takes_parts_ = false;    // The policy, when it released the current task.
  worker::CancelMode leaves_ = worker::CancelMode::kNone;  // Once the process is told to end.
  bool reached_ = false;  // The server has accepted the connection.
  std::optional<wire::Closed> closed_;
  std::optional<std::chrono::steady_clock::duration> clock_offset_;  // steady clock minus run's.
  // The computing thread's:
  Sequence current_{};
  wire::Room gradient_;  // If it has been asked for.
  worker::Slices slices_;
  // Set under mutex_, read anywhere.
  std::atomic<worker::CancelMode> cancelled_{worker::CancelMode::kNone};
  std::atomic<double> slowness_{1.0};
  std::unique_ptr<wire::ClientTransport> transport_;
  // The heart has a lock of its own, so that messages do not wake it.
  std::mutex heart_mutex_;
  std::condition_variable_any heart_stopped_;
  std::jthread heart_;  // Last: stops first.
};

}  // namespace outpace::live
