// A driver for tests: keeps the effects as lines of text.

#pragma once

#include <set>
#include <string>

#include "admission/driver.h"
#include "base/overloaded.h"

namespace outpace::admission {

inline protocol::Manifest network_named(const std::string& tensor) {
  return {.tensors = {{.name = tensor, .shape = {2}}}};
}

inline std::string to_text(const protocol::Stop& stop) {
  using enum protocol::Farewell;
  const std::string how = stop.how == kFinished       ? "finished"
                          : stop.how == kIncompatible ? "incompatible"
                          : stop.how == kFenced       ? "fenced"
                          : stop.how == kFailed       ? "failed"
                                                      : "presumed-dead";
  return how + (stop.why.empty() ? "" : " '" + stop.why + "'");
}

class TextDriver {
 public:
  explicit TextDriver(const Options& options) : admission(options) {}

  // Carries them out, and gives them as text: a line for each.
  std::string carry_out(Time now, Effects effects) {
    std::string text;
    const auto line = [&text](const std::string& words) { text += words + "\n"; };
    const auto peer = [](ConnectionId connection) {
      return " peer=" + std::to_string(static_cast<std::uint64_t>(connection));
    };
    const auto worker = [](WorkerId id, std::uint32_t incarnation) {
      return " worker=" + std::to_string(index(id)) + " incarnation=" + std::to_string(incarnation);
    };
    const auto needs = [](bool weights) { return weights ? " needs-weights" : ""; };
    admission::carry_out(
        admission,
        now,
        effects,
        Overloaded{
            [&](const Accept& accepted) {
              line("accept" + peer(accepted.peer) + worker(accepted.worker, accepted.incarnation) +
                   needs(accepted.needs_weights));
            },
            [&](const Welcome& again) {
              line("welcome" + peer(again.peer) + " incarnation=" +
                   std::to_string(again.incarnation) + needs(again.needs_weights));
            },
            [&](const Refuse& refused) {
              line("refuse" + peer(refused.peer) + " " + to_text(refused.stop));
            },
            [&](const HangUp& ended) { line("hang-up" + peer(ended.peer)); },
            [&](const Open&) { line("open"); },
            [&](const Reset&) { line("reset"); },
            [&](const Join& join) {
              for (const Join::Worker& one : join.workers) {
                line("join" + peer(one.peer) +
                     worker(one.newcomer.worker, one.newcomer.incarnation) +
                     (one.has_constants ? " has-constants" : ""));
              }
            },
            [&](const Leave& leave) {
              line("leave" + worker(leave.worker, leave.incarnation) +
                   (leave.how == policy::Departure::kLeft ? " left" : " dead") +
                   (leave.news.empty() ? "" : " '" + leave.news + "'"));
            },
            [&](const ScriptChanged& script) {
              if (script.groups) {
                line("script groups");
              }
            },
            [&](const ForgetWeights&) { line("forget-weights"); },
            [&](const Serve& serve) { line("serve" + peer(serve.peer)); },
            [&](const EvaluatorLost&) { line("evaluator-lost"); },
            [&](const MeasureLast&) { line("measure-last"); },
            [&](const StartEvaluator&) { line("start-evaluator"); },
            [&](const Warn& warning) { line("warn '" + warning.text + "'"); },
            [&](const Awaits& awaits) { line("awaits '" + awaits.text + "'"); },
            [&](const End& end) {
              line("end code=" + std::to_string(static_cast<int>(end.code)) + " '" + end.why + "'");
            }});
    return text;
  }

  // `ended`: connections whose processes have ended, which only a driver sees.
  std::string greet(Time now,
                    ConnectionId from,
                    const protocol::Hello& hello,
                    const std::set<ConnectionId>& ended = {},
                    Version version = {}) {
    std::string text;
    const auto held = admission.in_the_way(now, hello);
    if (held && ended.contains(*held)) {
      Effects gone;
      admission.hung_up(*held, gone);
      text = carry_out(now, std::move(gone));
    }
    Effects effects;
    admission.hello(now, from, hello, version, effects);
    return text + carry_out(now, std::move(effects));
  }

  Admission admission;
};

}  // namespace outpace::admission
