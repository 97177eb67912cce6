#include "outpace/worker.h"

#include <chrono>
#include <span>
#include <utility>

#include "live/environment.h"
#include "live/script.h"
#include "live/worker_job.h"

namespace outpace {

using live::for_the_public;

Worker Worker::from_environment() {
  return for_the_public([] {
    const WorkerOptions options = live::options_from_environment(/*ranked=*/true);
    Worker worker(options);
    worker.job_ = std::make_unique<Job>(options,
                                        live::pace_from_environment(WorkerId{options.worker}),
                                        live::profile_from_environment());
    return worker;
  });
}

Worker::Worker(WorkerOptions options) : job_(std::make_unique<Job>(std::move(options))) {}
Worker::~Worker() = default;
Worker::Worker(Worker&& other) noexcept = default;
Worker& Worker::operator=(Worker&& other) noexcept = default;

void Worker::join(const std::vector<Parameter>& parameters,
                  const std::function<std::vector<float>()>& initial_weights,
                  std::uint64_t examples,
                  const ScriptSettings& settings) {
  for_the_public([&] { job_->join(parameters, initial_weights, examples, settings); });
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

const std::string& Worker::constants() const {
  return job_->constants();
}

bool Worker::cancelled() const {
  return job_->cancelled();
}

bool Worker::wants_part() const {
  return job_->wants_part();
}

void Worker::stepped(std::size_t examples) {
  for_the_public([&] { job_->stepped(examples); });
}

PushResult Worker::push(std::vector<float> gradient,
                        std::optional<double> loss,
                        std::optional<std::size_t> part) {
  return for_the_public([&] { return job_->push(std::move(gradient), loss, part); });
}

PushResult Worker::push(std::span<const float> gradient,
                        std::optional<double> loss,
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

std::shared_ptr<const void> Worker::memory() const {
  return job_->memory();
}

void Worker::start_push(std::optional<double> loss) {
  for_the_public([&] { job_->start_push(loss); });
}

Worker::News Worker::await_news(std::chrono::nanoseconds most) {
  return for_the_public([&] { return job_->await_news(most); });
}

PushResult Worker::finish_push() {
  return for_the_public([this] { return job_->finish_push(); });
}

bool Worker::slowed() const {
  return job_->slowed();
}

void Worker::abandon(GiveUp why) {
  for_the_public([&] { job_->abandon(static_cast<protocol::GivenUp>(why)); });
}

void Worker::without(std::vector<std::uint32_t> tensors) {
  for_the_public([&] { job_->without(std::move(tensors)); });
}

void Worker::set_rates(std::uint64_t epoch, const std::vector<double>& rates) {
  for_the_public([&] { job_->set_rates(epoch, rates); });
}

void Worker::ask_for_evaluator() {
  for_the_public([this] { job_->ask_for_evaluator(); });
}

Worker::Evaluated Worker::evaluated(std::uint64_t epoch) const {
  return for_the_public([&] { return live::evaluated(job_->control(), epoch); });
}

void Worker::end_run(const std::string& why) const {
  for_the_public([&] { live::tell(job_->control(), protocol::EndRun{.why = why}); });
}

void Worker::mark(std::size_t numbers, double seconds_ago) {
  job_->mark(numbers, seconds_ago);
}

void Worker::stop_waiting() {
  job_->stop_waiting();
}

void Worker::leave() {
  for_the_public([this] { job_->leave(); });
}

}  // namespace outpace
