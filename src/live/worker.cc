#include "outpace/worker.h"

#include <chrono>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "live/lasting_session.h"
#include "live/token_file.h"
#include "wire/tls_files.h"

namespace outpace {
namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t kSliceMax = protocol::kWeightsMax * sizeof(float);

// Runs what may throw an Error, which is not for those outside.
template <typename Function>
auto for_the_public(Function function) {
  try {
    return function();
  } catch (const Error& error) {
    throw WorkerError(static_cast<int>(error.code()), error.what());
  }
}

// ---- The environment ----------------------------------------------------------------------------

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string required(const char* name, const std::string& takes) {
  std::string value = variable(name);
  if (value.empty()) {
    throw usage_error(std::string(name) + " is not set; it takes " + takes);
  }
  return value;
}

std::uint32_t number_below(const char* name, const std::string& value, std::uint64_t limit) {
  const std::optional<std::uint64_t> number = parse_count(value);
  if (!number || *number >= limit) {
    throw usage_error(std::string(name) + " is '" + value + "'; it takes 0 to " +
                      std::to_string(limit - 1));
  }
  return static_cast<std::uint32_t>(*number);
}

bool truth_of(const char* name) {
  const std::string value = variable(name);
  if (value == "true" || value == "1") {
    return true;
  }
  if (value.empty() || value == "false" || value == "0") {
    return false;
  }
  throw usage_error(std::string(name) + " is '" + value + "'; it takes true or false");
}

std::chrono::nanoseconds duration_from(const char* name, std::chrono::nanoseconds by_default) {
  const std::string value = variable(name);
  const std::optional<Duration> found = value.empty() ? by_default : parse_duration(value);
  if (!found) {
    throw usage_error(std::string(name) + " is '" + value +
                      "'; it takes a time such as 90s or 10m");
  }
  return *found;
}

WorkerOptions options_from_environment() {
  WorkerOptions options;
  options.server = required("OUTPACE_SERVER", "HOST:PORT or unix:PATH of the job's server");
  const std::string token_file =
      required("OUTPACE_TOKEN_FILE", "the file with the job's secret, the server's --token-file");
  options.token = live::read_token_file(token_file);
  const wire::TlsFiles tls = wire::find_tls({.certificate = variable("OUTPACE_TLS_CERT"),
                                             .key = variable("OUTPACE_TLS_KEY"),
                                             .ca = variable("OUTPACE_TLS_CA")},
                                            token_file,
                                            options.server,
                                            wire::TlsSide::kWorker);
  options.tls_certificate = tls.certificate;
  options.tls_key = tls.key;
  options.tls_ca = tls.ca;
  options.insecure_no_tls = truth_of("OUTPACE_INSECURE_NO_TLS");
  options.worker = number_below("OUTPACE_WORKER",
                                required("OUTPACE_WORKER", "this worker's rank: 0, 1, 2, ..."),
                                protocol::kWorkersMax);
  options.rejoin_for = duration_from("OUTPACE_REJOIN_FOR", options.rejoin_for);
  options.keep_alive = duration_from("OUTPACE_KEEP_ALIVE", options.keep_alive);
  if (const std::string slice = variable("OUTPACE_SLICE"); !slice.empty()) {
    const std::optional<std::uint64_t> bytes = parse_count(slice);
    if (!bytes || *bytes > kSliceMax) {
      throw usage_error("OUTPACE_SLICE is '" + slice +
                        "'; it takes a number of bytes such as 262144, or 0 for whole gradients");
    }
    options.slice_bytes = *bytes;
  }
  return options;
}

// ---- What the user brings -----------------------------------------------------------------------

void require(bool holds, const std::string& message) {
  if (!holds) {
    throw usage_error(message);
  }
}

// The server would refuse a wrong one too, but could not say so to who got it wrong.
protocol::Manifest manifest_of(const std::vector<Parameter>& parameters) {
  require(!parameters.empty(), "join: there are no parameters to train");
  require(parameters.size() <= protocol::kTensorsMax,
          "join: at most " + std::to_string(protocol::kTensorsMax) + " parameters are possible");
  protocol::Manifest manifest;
  std::set<std::string> names;
  double numbers = 0;  // A product of extents may be more than any integer holds.
  for (const Parameter& parameter : parameters) {
    const std::string which = "join: parameter '" + parameter.name + "' ";
    require(!parameter.name.empty() && parameter.name.size() <= protocol::kTextMax,
            which + "needs a name of at most " + std::to_string(protocol::kTextMax) + " bytes");
    require(names.insert(parameter.name).second, which + "is named twice");
    require(parameter.shape.size() <= protocol::kTensorRankMax,
            which + "has more than " + std::to_string(protocol::kTensorRankMax) + " dimensions");
    double product = 1;
    for (const std::uint64_t extent : parameter.shape) {
      require(extent >= 1, which + "has an extent of 0");
      product *= static_cast<double>(extent);
    }
    numbers += product;
    require(
        numbers <= static_cast<double>(protocol::kWeightsMax),
        which + "takes the weights beyond " + std::to_string(protocol::kWeightsMax) + " numbers");
    manifest.tensors.push_back({.name = parameter.name, .shape = parameter.shape});
  }
  return manifest;
}

PushOutcome to_outcome(protocol::Outcome outcome) {
  switch (outcome) {
    case protocol::Outcome::kAccepted:
      return PushOutcome::kAccepted;
    case protocol::Outcome::kDropped:
      return PushOutcome::kDropped;
    case protocol::Outcome::kRefused:
      break;
  }
  return PushOutcome::kRefused;
}

}  // namespace

// ---- The worker ---------------------------------------------------------------------------------

class Worker::Job {
 public:
  explicit Job(WorkerOptions options) : options_(std::move(options)) {}

  [[nodiscard]] wire::TlsFiles tls() const {
    return {
        .certificate = options_.tls_certificate, .key = options_.tls_key, .ca = options_.tls_ca};
  }

  void join(const std::vector<Parameter>& parameters,
            const std::function<std::vector<float>()>& initial_weights,
            std::uint64_t examples) {
    require(!joined_, "join: this worker has joined already");
    require(options_.worker < protocol::kWorkersMax,
            "worker " + std::to_string(options_.worker) + ": ranks are below " +
                std::to_string(protocol::kWorkersMax));
    require(examples >= 1, "join: the data set is empty");
    wire::check_encrypted(
        options_.server, tls(), options_.insecure_no_tls, "OUTPACE_INSECURE_NO_TLS=true");
    const protocol::Manifest manifest = manifest_of(parameters);
    numbers_ = manifest.numbers();
    const auto checked = [initial_weights, numbers = numbers_] {
      std::vector<float> weights = initial_weights();
      require(weights.size() == numbers,
              "join: there are " + std::to_string(weights.size()) +
                  " initial weights, the parameters hold " + std::to_string(numbers));
      return weights;
    };
    session_.emplace(
        live::WorkerOptions{.session = {.server = options_.server,
                                        .token = options_.token,
                                        .tls = tls(),
                                        .worker = WorkerId{options_.worker},
                                        .deadline = options_.deadline,
                                        .keep_alive = options_.keep_alive,
                                        .slice_bytes = options_.slice_bytes},
                            .rejoin_for = options_.rejoin_for},
        live::Offer{
            .manifest = manifest, .dataset_examples = examples, .initial_weights = checked});
    joined_ = true;
  }

  [[nodiscard]] bool joined() const { return joined_; }

  std::optional<Minibatch> next() {
    std::optional<live::LastingSession::Task> task = next_whole_task();
    if (!task) {
      return std::nullopt;
    }
    return Minibatch{.weights = std::move(task->work.weights).take(),
                     .examples = std::move(task->examples),
                     .version = count(task->work.release.version)};
  }

  std::optional<MinibatchView> next_view() { return view_of(next_whole_task()); }
  std::optional<MinibatchView> next_early() { return view_of(next_task()); }

  bool wait_for(std::size_t numbers) {
    require(in_hand_ > 0, "wait_for: this worker has no mini-batch; call next_early() first");
    require(numbers <= numbers_,
            "wait_for: " + std::to_string(numbers) + " weights, the parameters hold " +
                std::to_string(numbers_));
    return session_->session().wait_for_weights(numbers);
  }

  [[nodiscard]] bool cancelled() {
    return session_ && session_->session().cancelled() != worker::CancelMode::kNone;
  }

  std::span<float> gradient() {
    require(in_hand_ > 0, "gradient: this worker has no mini-batch; call next() first");
    gradient_ = session_->session().gradient();
    return gradient_;
  }

  void push_slice(std::size_t begin, std::size_t end) {
    require(!gradient_.empty(), "push_slice: write the gradient into gradient() first");
    session_->session().push_slice(begin, end);
  }

  PushResult push(std::vector<float> gradient, double loss, std::optional<std::size_t> part) {
    const auto result = result_of(gradient.size(), loss, part);
    require_unsliced();
    return answer([&] { return session_->session().push(result, std::move(gradient)); });
  }

  PushResult push(std::span<const float> gradient, double loss, std::optional<std::size_t> part) {
    const auto result = result_of(gradient.size(), loss, part);
    const bool in_place = gradient.data() == gradient_.data();
    if (!in_place) {
      require_unsliced();
    }
    return answer([&] {
      return in_place ? session_->session().push(result)
                      : session_->session().push(
                            result, std::vector<float>(gradient.begin(), gradient.end()));
    });
  }

  void abandon() {
    if (in_hand_ > 0) {
      drop();
      session_->session().abandon();
    }
  }

  void leave() {
    drop();
    if (session_) {
      session_->session().leave();
      session_.reset();
    }
  }

 private:
  std::optional<MinibatchView> view_of(std::optional<live::LastingSession::Task> task) {
    if (!task) {
      return std::nullopt;
    }
    weights_ = std::move(task->work.weights);
    return MinibatchView{.weights = weights_.span(),
                         .examples = std::move(task->examples),
                         .version = count(task->work.release.version)};
  }

  // If the connection is lost before all of its weights are there, the next one.
  std::optional<live::LastingSession::Task> next_whole_task() {
    while (true) {
      std::optional<live::LastingSession::Task> task = next_task();
      if (!task || session_->session().wait_for_weights(numbers_)) {
        return task;
      }
    }
  }

  void require_unsliced() const {
    require(!session_->session().slice_sent(),
            "push: slices of gradient() have left; push gradient() itself");
  }

  std::optional<live::LastingSession::Task> next_task() {
    require(joined_, "next: join() comes first");
    abandon();
    if (!session_) {
      return std::nullopt;
    }
    std::optional<live::LastingSession::Task> task;
    try {
      task = session_->next();
    } catch (...) {
      session_.reset();  // There is no connection any more that could be used.
      throw;
    }
    if (task) {
      in_hand_ = task->examples.size();
      begun_ = steady_clock::now();
    }
    return task;
  }

  // What a push says beside the gradient.
  live::WorkerSession::Result result_of(std::size_t numbers,
                                        double loss,
                                        std::optional<std::size_t> part) const {
    require(in_hand_ > 0, "push: this worker has no mini-batch; call next() first");
    require(numbers == numbers_,
            "push: the gradient has " + std::to_string(numbers) + " numbers, the parameters hold " +
                std::to_string(numbers_));
    const std::size_t examples = part.value_or(in_hand_);
    require(examples >= 1 && examples <= in_hand_,
            "push: a part of " + std::to_string(examples) + " examples, the mini-batch has " +
                std::to_string(in_hand_));
    return {.examples = static_cast<std::uint32_t>(examples),
            .partial = examples < in_hand_,
            .loss = loss,
            .compute_seconds = std::chrono::duration<double>(steady_clock::now() - begun_).count()};
  }

  template <typename Push>
  PushResult answer(Push push) {
    in_hand_ = 0;
    weights_ = {};  // The server may use their memory again.
    const std::optional<protocol::Verdict> verdict = push();
    gradient_ = {};
    if (!verdict) {
      return {PushOutcome::kUnanswered, "the run ended or the connection was lost first"};
    }
    return {to_outcome(verdict->outcome), verdict->why.value_or("")};
  }

  // Nothing of the current mini-batch is needed any more.
  void drop() {
    in_hand_ = 0;
    weights_ = {};
    gradient_ = {};
  }

  const WorkerOptions options_;
  // State.
  bool joined_ = false;
  std::uint64_t numbers_ = 0;
  std::optional<live::LastingSession> session_;  // From join() to the end.
  std::size_t in_hand_ = 0;  // Examples of the mini-batch that awaits its answer.
  steady_clock::time_point begun_;
  wire::Numbers weights_;      // Of the current mini-batch, if it is a view.
  std::span<float> gradient_;  // The session's, if it was asked for.
};

Worker Worker::from_environment() {
  return for_the_public([] { return Worker(options_from_environment()); });
}

Worker::Worker(WorkerOptions options) : job_(std::make_unique<Job>(std::move(options))) {}
Worker::~Worker() = default;
Worker::Worker(Worker&& other) noexcept = default;
Worker& Worker::operator=(Worker&& other) noexcept = default;

void Worker::join(const std::vector<Parameter>& parameters,
                  const std::function<std::vector<float>()>& initial_weights,
                  std::uint64_t examples) {
  for_the_public([&] { job_->join(parameters, initial_weights, examples); });
}

bool Worker::joined() const {
  return job_->joined();
}

std::optional<Minibatch> Worker::next() {
  return for_the_public([this] { return job_->next(); });
}

std::optional<MinibatchView> Worker::next_view() {
  return for_the_public([this] { return job_->next_view(); });
}

bool Worker::cancelled() const {
  return job_->cancelled();
}

PushResult Worker::push(std::vector<float> gradient, double loss, std::optional<std::size_t> part) {
  return for_the_public([&] { return job_->push(std::move(gradient), loss, part); });
}

PushResult Worker::push(std::span<const float> gradient,
                        double loss,
                        std::optional<std::size_t> part) {
  return for_the_public([&] { return job_->push(gradient, loss, part); });
}

std::optional<MinibatchView> Worker::next_early() {
  return for_the_public([this] { return job_->next_early(); });
}

bool Worker::wait_for(std::size_t numbers) {
  return for_the_public([&] { return job_->wait_for(numbers); });
}

void Worker::push_slice(std::size_t begin, std::size_t end) {
  for_the_public([&] { job_->push_slice(begin, end); });
}

std::span<float> Worker::gradient() {
  return for_the_public([this] { return job_->gradient(); });
}

void Worker::abandon() {
  for_the_public([this] { job_->abandon(); });
}

void Worker::leave() {
  for_the_public([this] { job_->leave(); });
}

}  // namespace outpace
