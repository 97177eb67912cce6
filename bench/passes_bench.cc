// How often each operation of the server touches memory, and how near it is to memcpy's rate.
//
// A pass is one read or one write of as many bytes as the gradient has. memcpy makes two. A row
// gives the operation's passes, its median time, that time in times of memcpy, which is measured
// between the rounds, and the bytes that it touches per second as a share of memcpy's rate. A
// gradient should not fit into a cache, or memcpy alone is measured there. Arguments: numbers of a
// gradient (default 25e6), rounds (default 15).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/square_sum.h"
#include "update/aggregate.h"
#include "update/gradient.h"
#include "update/optimizer.h"
#include "wire/kept_memory.h"

namespace outpace {
namespace {

using Clock = std::chrono::steady_clock;
using Numbers = std::vector<float>;

double seconds_of(const std::function<void()>& work) {
  const auto begun = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

struct Operation {
  std::string name;
  double passes;
  std::function<void()> work;
};

class Bench {
 public:
  Bench(std::size_t size, int rounds) : size_(size), rounds_(rounds), from_(size), to_(size) {
    Rng rng(1, 0);
    for (float& number : from_) {
      number = static_cast<float>(rng.normal());
    }
  }

  void run() {
    std::printf("%zu numbers, %.0f MB\n", size_, bytes() / 1e6);
    std::printf("%-44s %6s %9s %8s %8s\n", "operation", "passes", "ms", "memcpys", "share");
    for (const Operation& one : arriving()) {
      row(one);
    }
    for (const update::OptimizerDoc& doc : update::optimizers()) {
      for (const Operation& one : stepping(doc.name)) {
        row(one);
      }
    }
  }

 private:
  [[nodiscard]] double bytes() const { return static_cast<double>(size_ * sizeof(float)); }

  void row(const Operation& one) {
    std::vector<double> copies;
    std::vector<double> times;
    one.work();
    for (int i = 0; i < rounds_; ++i) {
      copies.push_back(
          seconds_of([this] { std::memcpy(to_.data(), from_.data(), size_ * sizeof(float)); }));
      times.push_back(seconds_of(one.work));
    }
    const double copy = median(copies);
    const double time = median(times);
    std::printf("%-44s %6.0f %9.3f %8.2f %7.0f%%\n",
                one.name.c_str(),
                one.passes,
                1e3 * time,
                time / copy,
                100 * (one.passes / 2) / (time / copy));
    std::fflush(stdout);
  }

  [[nodiscard]] std::vector<Operation> arriving() {
    std::vector<Operation> all;
    all.push_back(
        {"memcpy", 2, [this] { std::memcpy(to_.data(), from_.data(), size_ * sizeof(float)); }});
    all.push_back({"check and norm alone", 1, [this] { sink_ = update::squared_norm(from_); }});
    all.push_back({"arrive: copy, then check and norm", 3, [this] {
                     Numbers copy;
                     copy.reserve(size_);
                     copy.insert(copy.end(), from_.begin(), from_.end());
                     sink_ = update::squared_norm(copy);
                     kept_ = std::move(copy);
                   }});
    all.push_back({"arrive: copy, check and norm in one pass", 2, [this] {
                     SummedCopy copy = copy_and_sum(from_);
                     sink_ = copy.squares;
                     kept_ = std::move(copy.numbers);
                   }});
    auto aggregate =
        std::make_shared<update::Aggregate>(size_, update::Reduce::kWorkerOrder, /*weighted=*/true);
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      (void)aggregate->add(
          {.worker = WorkerId{worker}, .release = Sequence{1}, .weight = 1.0, .examples = 1},
          from_);
    }
    all.push_back(
        {"mean of four gradients", 5, [this, aggregate] { sink_ = aggregate->mean()[0]; }});
    return all;
  }

  [[nodiscard]] std::vector<Operation> stepping(const std::string& name) {
    // Reads of the mean, the weights and the state; writes of the state and the weights.
    static const std::vector<std::pair<std::string, double>> kPasses = {{"sgd", 3},
                                                                        {"momentum", 5},
                                                                        {"nesterov", 5},
                                                                        {"adam", 7},
                                                                        {"adamw", 7},
                                                                        {"lamb", 14},
                                                                        {"rmsprop", 5},
                                                                        {"adagrad", 5},
                                                                        {"adadelta", 7},
                                                                        {"yellowfin", 15}};
    const auto passes = std::ranges::find(
        kPasses, name, [](const auto& one) -> const std::string& { return one.first; });
    if (passes == kPasses.end()) {
      return {};  // Nobody has counted them.
    }
    const update::Step step{.rate = 1e-6, .mean_weight = 1.0, .weight_decay = 0.0};
    const std::shared_ptr<update::Optimizer> optimizer =
        update::make_optimizer(Spec::parse(name), size_);
    weights_.assign(size_, 1.0F);
    moved_.assign(size_, 1.0F);
    std::vector<Operation> all;
    if (name == "sgd") {
      all.push_back({"sgd: step in place, then copy the weights", 5, [this, optimizer, step] {
                       optimizer->step(step, from_, weights_);
                       std::memcpy(moved_.data(), weights_.data(), size_ * sizeof(float));
                     }});
    }
    all.push_back({name + ": step into the next version", passes->second, [this, optimizer, step] {
                     optimizer->step_into(step, from_, weights_, moved_);
                     std::swap(weights_, moved_);
                   }});
    return all;
  }

  const std::size_t size_;
  const int rounds_;
  Numbers from_;
  Numbers to_;
  Numbers kept_;
  Numbers weights_;
  Numbers moved_;
  volatile double sink_ = 0.0;  // Results, so that they are computed.
};

int run(int argc, char** argv) {
  const auto size =
      argc > 1 ? static_cast<std::size_t>(std::strtod(argv[1], nullptr)) : std::size_t{25'000'000};
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  if (size < 1 || rounds < 1) {
    std::fprintf(stderr, "passes_bench: [NUMBERS [ROUNDS]], both at least 1\n");
    return 2;
  }
  wire::keep_freed_memory();  // As the server does.
  Bench(size, rounds).run();
  return 0;
}

}  // namespace
}  // namespace outpace

int main(int argc, char** argv) {
  return outpace::run(argc, argv);
}
