// Runs every file of testdata/ and compares what the workers decided with what the file says.
//
// A file is a series of blocks, with comments between them:
//
//   gradient worker=0 draw=1         an event
//   ----
//   0 sends ask to 1                 what to carry out, in order
//
// worker=0,1,2 is one event for each. The first event begins anew, and says what the workers are:
//
//   gossip AVERAGING workers=N [every=K]    joins, gradient [draw=R], knock from=R [invited],
//                                           came from=R says=SAY [draw=R], ready, leaves, ends
//   ring workers=N batch=B examples=E       formed generation=G version=V [members=A,B] [ahead=A]
//     [updates=U] [epochs=E]                [behind=B] [newcomers=C], summed [votes], broken, anew,
//                                           took updates=U gradients=G examples=E [ended]
//   host workers=N                          lost, came, stands generation=G version=V [newcomer]
//   member                                  asked generation=G, told generation=G, out
//
// `draw`: the neighbour that is drawn, if one is. To accept new output, run with UPDATE_GOLDEN=1
// and read the diff: commit it only if you can say why each line changed.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/overloaded.h"
#include "base/text.h"
#include "peer/formation.h"
#include "peer/gossip.h"
#include "peer/membership.h"
#include "peer/ring.h"

namespace outpace::peer {
namespace {

struct Command {
  std::string name;
  std::string kind;  // A gossip's averaging.
  std::map<std::string, std::string> fields;

  static Command parse(const std::string& line) {
    std::istringstream words(line);
    Command command;
    words >> command.name;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos && command.name == "gossip") {
        command.kind = word;
      } else {
        command.fields[word.substr(0, equals)] =
            equals == std::string::npos ? word : word.substr(equals + 1);
      }
    }
    return command;
  }

  [[nodiscard]] std::uint32_t count(const std::string& key, std::uint32_t otherwise = 0) const {
    const auto found = fields.find(key);
    return found == fields.end() ? otherwise
                                 : static_cast<std::uint32_t>(*parse_count(found->second));
  }
  [[nodiscard]] std::vector<WorkerId> workers(const std::string& key) const {
    std::vector<WorkerId> found;
    if (fields.contains(key)) {
      for (const std::string_view one : split(fields.at(key), ',')) {
        found.push_back(WorkerId{static_cast<std::uint32_t>(*parse_count(one))});
      }
    }
    return found;
  }
};

class GossipScene {
 public:
  explicit GossipScene(const Command& command) {
    static const std::map<std::string, Averaging> kKinds{{"coupled", Averaging::kCoupled},
                                                         {"free", Averaging::kFree},
                                                         {"pull", Averaging::kPull},
                                                         {"push", Averaging::kPush},
                                                         {"easgd", Averaging::kElastic}};
    for (std::uint32_t rank = 0; rank < command.count("workers"); ++rank) {
      workers_.emplace_back(kKinds.at(command.kind), command.count("every", 1));
    }
  }

  std::string pass(const Command& command, std::uint32_t rank) {
    Gossip& worker = workers_.at(rank);
    const Draw draw = [&] { return command.count("draw"); };
    if (command.name == "joins") {
      return text(rank, worker.join({.rank = rank}, draw));
    }
    if (command.name == "gradient") {
      return text(rank, worker.begin_gradient(draw));
    }
    const std::uint32_t from = command.count("from");
    if (command.name == "knock") {
      const Message opening{from, worker.opening(), command.fields.contains("invited")};
      return text(rank, worker.knock(opening, draw));
    }
    if (command.name == "came") {
      return text(rank, worker.came({from, say_of(command.fields.at("says")).value()}, draw));
    }
    if (command.name == "ready") {
      return std::to_string(rank) + (worker.waits() ? " waits" : " goes on") + "\n";
    }
    if (command.name == "ends") {
      worker.end();
    } else {
      EXPECT_EQ(command.name, "leaves");
      worker.leave();
    }
    return std::to_string(rank) + (worker.quiet() ? " has no meeting open\n" : " has one open\n");
  }

 private:
  static std::string text(std::uint32_t rank, const Actions& actions) {
    std::string text;
    for (const Action& action : actions) {
      text += std::to_string(rank) + " " + to_words(action) + "\n";
    }
    return text.empty() ? "nothing\n" : text;
  }

  std::vector<Gossip> workers_;
};

class RingScene {
 public:
  explicit RingScene(const Command& command) : settings_(command), all_(command.count("workers")) {
    for (std::uint32_t rank = 0; rank < command.count("workers"); ++rank) {
      all_[rank] = WorkerId{rank};
      workers_.push_back(make(rank));
    }
  }

  std::string pass(const Command& command, std::uint32_t rank) {
    Ring& worker = *workers_.at(rank);
    if (command.name == "formed") {
      const std::vector<WorkerId> members = command.workers("members");
      return text(rank,
                  worker.formed({.generation = command.count("generation"),
                                 .version = Version{command.count("version")},
                                 .members = members.empty() ? all_ : members,
                                 .ahead = WorkerId{command.count("ahead")},
                                 .behind = command.workers("behind"),
                                 .newcomers = command.workers("newcomers")}));
    }
    if (command.name == "took") {
      return text(rank,
                  worker.took({.made = {.updates = command.count("updates"),
                                        .gradients = command.count("gradients"),
                                        .examples = command.count("examples")},
                               .ended = command.fields.contains("ended")}));
    }
    if (command.name == "anew") {  // Its process was started again.
      workers_.at(rank) = make(rank);
      return std::to_string(rank) + " has nothing\n";
    }
    if (command.name == "summed") {
      return text(rank, worker.summed(command.fields.contains("votes")));
    }
    EXPECT_EQ(command.name, "broken");
    worker.broken();
    return std::to_string(rank) + " is at version " + std::to_string(count(worker.version())) +
           "\n";
  }

 private:
  [[nodiscard]] std::unique_ptr<Ring> make(std::uint32_t rank) const {
    return std::make_unique<Ring>(
        Ring::Options{.worker = WorkerId{rank},
                      .batches = {.workers = settings_.count("workers"),
                                  .batch = settings_.count("batch"),
                                  .examples = settings_.count("examples"),
                                  .updates = settings_.count("updates"),
                                  .epochs = settings_.count("epochs")},
                      .evaluate_every = settings_.count("evaluate", 1'000)});
  }
  static std::string text(std::uint32_t rank, const Ring::Actions& actions) {
    std::string text;
    for (const Ring::Action& action : actions) {
      text += std::to_string(rank) + " " + to_words(action) + "\n";
    }
    return text;
  }

  const Command settings_;
  std::vector<WorkerId> all_;
  std::vector<std::unique_ptr<Ring>> workers_;
};

std::string to_text(const std::optional<Formation::Order>& order) {
  return to_words(order) + "\n";
}

class HostScene {
 public:
  explicit HostScene(const Command& command) : workers_(command.count("workers")) {}

  std::string begin() {
    std::set<WorkerId> all;
    for (std::uint32_t id = 0; id < workers_; ++id) {
      all.insert(WorkerId{id});
    }
    return to_text(formation_.begin(all));
  }
  std::string pass(const Command& command, std::uint32_t rank) {
    if (command.name == "lost") {
      return to_text(formation_.lost(WorkerId{rank}));
    }
    if (command.name == "came") {
      return to_text(formation_.came(WorkerId{rank}));
    }
    EXPECT_EQ(command.name, "stands");
    return to_text(formation_.stands(WorkerId{rank},
                                     {.generation = command.count("generation"),
                                      .version = Version{command.count("version")},
                                      .newcomer = command.fields.contains("newcomer")}));
  }

 private:
  std::uint32_t workers_;
  Formation formation_;
};

class MemberScene {
 public:
  std::string pass(const Command& command) {
    const std::uint32_t generation = command.count("generation");
    if (command.name == "asked") {
      membership_.asked({generation});
    } else if (command.name == "told") {
      membership_.told({.generation = generation, .version = {}, .members = {}, .behind = {}});
    } else {
      EXPECT_EQ(command.name, "out");
      membership_.out();
      in_ = false;
    }
    if (in_) {
      return membership_.must_leave() ? "leaves its group\n" : "stays\n";
    }
    if (const auto answers = membership_.answer()) {
      return "says where it stands: generation " + std::to_string(*answers) + "\n";
    }
    if (const auto group = membership_.joins()) {
      in_ = true;
      return "joins group " + std::to_string(group->generation) + "\n";
    }
    return "waits\n";
  }

 private:
  Membership membership_;
  bool in_ = true;  // Before the first out(), it is not asked.
};

class Scenario {
 public:
  std::string run(const Command& command) {
    if (command.name == "gossip") {
      scene_.emplace<GossipScene>(command);
      return "ok\n";
    }
    if (command.name == "ring") {
      scene_.emplace<RingScene>(command);
      return "ok\n";
    }
    if (command.name == "host") {
      return scene_.emplace<HostScene>(command).begin();
    }
    if (command.name == "member") {
      scene_.emplace<MemberScene>();
      return "ok\n";
    }
    if (auto* member = std::get_if<MemberScene>(&scene_)) {
      return member->pass(command);
    }
    std::string text;
    for (const WorkerId worker : command.workers("worker")) {
      const auto rank = static_cast<std::uint32_t>(index(worker));
      text += std::visit(Overloaded{[&](MemberScene& /*seen above*/) { return std::string(); },
                                    [&](auto& scene) { return scene.pass(command, rank); }},
                         scene_);
    }
    return text;
  }

 private:
  std::variant<MemberScene, GossipScene, RingScene, HostScene> scene_;
};

// The file as it would read had the workers written it: comments and events kept, answers new.
std::string replay(std::istream& file) {
  Scenario scenario;
  std::ostringstream out;
  std::string line;
  while (std::getline(file, line)) {
    out << line << "\n";
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const std::string answer = scenario.run(Command::parse(line));
    std::getline(file, line);
    EXPECT_EQ(line, "----");
    out << line << "\n" << answer;
    while (std::getline(file, line) && !line.empty()) {
    }
    if (file) {
      out << "\n";
    }
  }
  return out.str();
}

TEST(PeerScenarios, AnswerAsWritten) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(OUTPACE_TESTDATA)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_GE(paths.size(), 8U);
  for (const std::filesystem::path& path : paths) {
    SCOPED_TRACE(path.filename());
    std::stringstream expected;
    expected << std::ifstream(path).rdbuf();
    const std::string actual = replay(expected);
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path) << actual;
    } else {
      EXPECT_EQ(actual, expected.str());
    }
  }
}

}  // namespace
}  // namespace outpace::peer
