#include "record/chrome_trace.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/overloaded.h"
#include "policy/words.h"

namespace outpace::record {
namespace {

// The server is the first process, worker w is process w + 1; each has one track.
constexpr std::uint32_t kServer = 0;
// All links are one process, whose number is no worker's.
constexpr std::uint32_t kLinks = 1'000'000'000;

// Viewers ignore it; people find it.
constexpr const char* kGap =
    R"(,{"ph":"M","name":"a gap: events that could not be written are missing","pid":0})";

// An update takes no time in the record; a slice without length has no place for an arrow's head.
constexpr Duration kInstant{1};

std::size_t process_of(WorkerId worker) {
  return index(worker) + 1;
}

double micros(Duration duration) {
  return 1e-3 * static_cast<double>(duration.count());
}
double micros(Time time) {
  return micros(time.time_since_epoch());
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string words_of(const policy::Decided& decided) {
  return decided.words.empty() ? to_words(decided.reason) : std::string(decided.words);
}

}  // namespace

ChromeTrace::ChromeTrace(const std::filesystem::path& path,
                         const std::string& policy,
                         GapTold told,
                         WriteQueue* queue)
    : file_(std::in_place, path, Gaps{.told = std::move(told), .mark = kGap, .queue = queue}) {
  name_server(policy);
}

ChromeTrace::ChromeTrace(const policy::Underway& begin, const std::string& policy)
    : last_(begin.now), version_(begin.version), accepted_(begin.accepted) {
  name_server(policy);
  for (std::size_t i = 0; i < begin.workers.size(); ++i) {
    const WorkerId worker{static_cast<std::uint32_t>(i)};
    task_of(worker) = begin.workers[i].task;
    if (begin.workers[i].live) {
      begin_process(begin.now, worker);
    }
  }
}

void ChromeTrace::name_server(const std::string& policy) {
  add(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":{}}})",
      kServer,
      quoted("server: " + policy));
}

void ChromeTrace::tell(Time now, const policy::Event& event, const policy::Decided& decided) {
  last_ = now;
  std::visit(
      Overloaded{
          [&](const policy::WorkerJoined& joined) { begin_process(now, joined.worker); },
          [&](const policy::WorkerLeft& left) {
            end_task(
                now, left.worker, {.how = text_of(policy::kDepartures, left.how), .now = version_});
            counter(now, "live workers", --live_);
          },
          [&](const policy::GradientArrived& arrived) { end_with_gradient(now, arrived, decided); },
          [&](const policy::ReleaseEnded& ended) {
            end_task(
                now, ended.worker, {.how = text_of(policy::kEndings, ended.how), .now = version_});
          },
          Ignoring<policy::TimerFired, policy::Measured, policy::PolicySet>{}},
      event);
  for (const policy::Action& action : decided.actions) {
    std::visit(
        Overloaded{[&](const policy::Commit&) { commit(now, decided); },
                   [&](const policy::Release& released) {
                     task_of(released.worker) = {.open = true, .begun = now, .version = version_};
                   },
                   [&](const policy::Switched&) {
                     add(R"("ph":"i","s":"g","name":{},"pid":{},"tid":0,"ts":{:.3f})",
                         quoted(words_of(decided)),
                         kServer,
                         micros(now));
                   },
                   Ignoring<policy::Accept, policy::Drop>{},  // end_with_gradient() has them.
                   Ignoring<policy::Cancel, policy::WakeAt>{}},
        action);
  }
}

void ChromeTrace::begin_process(Time now, WorkerId worker) {
  const std::size_t process = process_of(worker);
  add(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":"worker {}"}})",
      process,
      index(worker));
  add(R"("ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}})", process);
  counter(now, "live workers", ++live_);
}

void ChromeTrace::end_with_gradient(Time now,
                                    const policy::GradientArrived& event,
                                    const policy::Decided& decided) {
  std::string how;
  for (const policy::Action& action : decided.actions) {
    if (const auto* dropped = std::get_if<policy::Drop>(&action);
        dropped != nullptr && dropped->worker == event.worker) {
      how = "dropped: " + std::string(to_words(dropped->why));
    } else if (const auto* accepted = std::get_if<policy::Accept>(&action);
               accepted != nullptr && accepted->worker == event.worker) {
      how = event.partial ? "accepted in part" : "accepted";
      accepted_.push_back(event.release);
      add(R"("ph":"s","cat":"update","name":"push","id":{},"pid":{},"tid":0,"ts":{:.3f})",
          number(event.release),
          process_of(event.worker),
          micros(now - kInstant));  // Within the task's slice.
    }
  }
  end_task(now, event.worker, {.how = how, .examples = event.examples, .now = version_});
  counter(now,
          "staleness",
          static_cast<double>(count(version_)) - static_cast<double>(count(event.computed_on)));
}

void ChromeTrace::end_task(Time now, WorkerId worker, const Outcome& outcome) {
  policy::Underway::Task& task = task_of(worker);
  if (!std::exchange(task.open, false)) {
    return;
  }
  add(R"("ph":"X","cat":"task","name":"version {}","pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f},)"
      R"("args":{{"outcome":"{}","examples":{},"staleness":{}}})",
      count(task.version),
      process_of(worker),
      micros(task.begun),
      micros(now - task.begun),
      outcome.how,
      outcome.examples,
      count(outcome.now) - count(task.version));
}

void ChromeTrace::commit(Time now, const policy::Decided& decided) {
  version_ = Version{count(version_) + 1};
  add(R"("ph":"X","cat":"update","name":"version {}","pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f},)"
      R"("args":{{"gradients":{},"reason":{}}})",
      count(version_),
      kServer,
      micros(now),
      micros(kInstant),
      accepted_.size(),
      quoted(words_of(decided)));
  for (const Sequence release : accepted_) {
    add(R"("ph":"f","bp":"e","cat":"update","name":"push","id":{},"pid":{},"tid":0,"ts":{:.3f})",
        number(release),
        kServer,
        micros(now));
  }
  accepted_.clear();
}

void ChromeTrace::counter(Time now, std::string_view name, double value) {
  add(R"("ph":"C","name":"{0}","pid":{1},"ts":{2:.3f},"args":{{"{0}":{3}}})",
      name,
      kServer,
      micros(now),
      value);
}

void ChromeTrace::append_link(const std::string& name,
                              Time begin,
                              Duration window,
                              std::span<const double> used) {
  if (!std::exchange(has_links_, true)) {  // Shown next to the server.
    add(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":"links"}})", kLinks);
    add(R"("ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":0}})", kLinks);
  }
  const std::string track = quoted(name);
  std::int64_t before = -1;
  for (const double share : used) {
    const std::int64_t per_mille = std::llround(1000 * share);
    if (std::exchange(before, per_mille) != per_mille) {  // A curve stays where it is by itself.
      add(R"("ph":"C","name":{},"pid":{},"ts":{:.3f},"args":{{"% used":{}}})",
          track,
          kLinks,
          micros(std::max(begin, Time{})),
          static_cast<double>(per_mille) / 10);
    }
    begin += window;
  }
}

void ChromeTrace::close() {
  for (std::size_t worker = 0; worker < tasks_.size(); ++worker) {
    end_task(last_,
             WorkerId{static_cast<std::uint32_t>(worker)},
             {.how = "open at the end", .now = version_});
  }
  fmt::format_to(std::back_inserter(buffer()), "]");
  end_line();
  if (file_) {
    file_->close();
  }
}

void ChromeTrace::end_line() {
  if (file_) {
    file_->end_line();
  } else {
    text_.push_back('\n');
  }
}

policy::Underway::Task& ChromeTrace::task_of(WorkerId worker) {
  if (tasks_.size() <= index(worker)) {
    tasks_.resize(index(worker) + 1);
  }
  return tasks_[index(worker)];
}

template <typename... Values>
void ChromeTrace::add(fmt::format_string<Values...> format, Values&&... values) {
  const auto out = std::back_inserter(buffer());
  fmt::format_to(out, "{}", std::exchange(first_, false) ? "[{" : ",{");
  fmt::format_to(out, format, std::forward<Values>(values)...);
  fmt::format_to(out, "}}");
  end_line();
}

std::string trace_of(const policy::RecentDecisions::Parts& parts, const std::string& policy) {
  ChromeTrace trace(parts.empty() ? policy::Underway{} : parts.front()->begin, policy);
  for (const auto& part : parts) {
    std::size_t first = 0;
    for (const policy::RecentDecisions::Part::One& one : part->decided) {
      const std::span<const policy::Action> all(part->actions);
      trace.tell(one.now,
                 one.event,
                 {.actions = all.subspan(first, one.actions_end - first),
                  .reason = one.reason,
                  .words = one.words});
      first = one.actions_end;
    }
  }
  trace.close();
  return trace.text();
}

}  // namespace outpace::record
