// Carries out the faults of a plan on a stage's processes, and heals each when its time is over.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chaos/plan.h"
#include "chaos_run/journal.h"
#include "chaos_run/stage.h"

namespace outpace::chaos_run {

class Injector {
 public:
  // `ballast`: starts a process that takes this many MiB.
  Injector(Stage& stage,
           Journal& journal,
           std::function<std::unique_ptr<Process>(std::uint64_t mib)> ballast)
      : stage_(stage), journal_(journal), ballast_(std::move(ballast)) {}

  // False if its target is not there, say because it is down; then nothing is done.
  bool inject(const chaos::Fault& fault);
  // Heals what is due, and slows what is slowed.
  void tick();
  // Heals everything now.
  void heal_all();

 private:
  struct Wound {
    chaos::Fault fault;
    SteadyTime until;
    std::function<void()> heal;
  };
  struct Slowed {
    std::string who;
    std::uint32_t start;  // Which of its lives: another process is left alone.
    double share;
    bool stopped = false;
  };

  bool inject_on(Member& member, const chaos::Fault& fault);
  void block(const chaos::Fault& fault);
  void slow(Member& member, const chaos::Fault& fault);
  void heal_later(const chaos::Fault& fault, std::function<void()> heal);
  void close(Wound& wound);
  // Sends the signal if it is still the process of that life.
  void send(const std::string& who, std::uint32_t start, int signal);

  Stage& stage_;
  Journal& journal_;
  const std::function<std::unique_ptr<Process>(std::uint64_t)> ballast_;
  std::vector<Wound> wounds_;
  std::vector<Slowed> slowed_;
};

}  // namespace outpace::chaos_run
