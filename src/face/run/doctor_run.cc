// Tested by test/program/doctor_test.py.

#include "run/doctor_run.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "live/mailbox.h"
#include "live/token_file.h"
#include "protocol/messages.h"
#include "run/checkup.h"
#include "run/user_command.h"
#include "wire/address.h"
#include "wire/join_code.h"
#include "wire/transports.h"

namespace outpace::run {
namespace {

using std::chrono::steady_clock;

constexpr Duration kWaits = std::chrono::seconds(5);  // For one address.

steady_clock::time_point soon() {
  return steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(kWaits);
}

// ---- What scripts need --------------------------------------------------------------------------

// The last line that a command prints, and whether it ended well. Its errors are printed, too.
std::optional<std::string> last_line_of(const std::vector<std::string>& words, std::string& line) {
  FILE* const out = ::popen((quoted(words) + " 2>&1").c_str(), "r");
  if (out == nullptr) {
    return std::nullopt;
  }
  std::array<char, 1024> part{};
  while (std::fgets(part.data(), part.size(), out) != nullptr) {
    line = trim(part.data());
  }
  return ::pclose(out) == 0 ? std::optional(line) : std::nullopt;
}

Finding look_at_python(const std::string& python) {
  constexpr const char* kLook =
      "import importlib.util as u, torch\n"
      "gpus = torch.cuda.device_count()\n"
      "own = ''\n"
      "if u.find_spec('outpace'):\n"
      "    import outpace; own = ', the package outpace'\n"
      "print(f'torch {torch.__version__}{own}, {gpus} GPUs')\n";
  std::string line;
  const auto found = last_line_of({"timeout", "60", python, "-c", kLook}, line);
  if (!found) {
    return {Grade::kMind, "python", python + ": " + (line.empty() ? "it does not run" : line)};
  }
  const bool package = found->find("the package outpace") != std::string::npos;
  return package
             ? Finding{Grade::kGood, "python", python + " has " + *found}
             : Finding{Grade::kMind,
                       "python",
                       python + " has " + *found + ", and not the package outpace: pip install " +
                           "outpace-*.whl (docs/python.md)"};
}

Finding look_at_program(bool has_libtorch) {
  const std::string words =
      fmt::format("outpace {}, wire protocol {}", OUTPACE_VERSION, protocol::kProtocolVersion);
  return has_libtorch
             ? Finding{Grade::kGood, "program", words + ", with libtorch"}
             : Finding{Grade::kMind,
                       "program",
                       words + ", without libtorch: scripts train, networks of ours do not"};
}

// ---- The way to a server ------------------------------------------------------------------------

// Whether anything listens there.
Finding look_at_port(const std::string& address) {
  const auto begun = steady_clock::now();
  std::string why = "its name has no address";
  try {
    for (const wire::Endpoint& endpoint : wire::resolve(address, soon())) {
      try {
        (void)wire::connect_to(endpoint, soon(), wire::Descriptor());
        const std::chrono::duration<double, std::milli> took = steady_clock::now() - begun;
        return {Grade::kGood,
                "port",
                fmt::format("{} answers, after {:.1f} ms", address, took.count())};
      } catch (const Error& error) {
        why = error.what();
      }
    }
  } catch (const Error& error) {
    why = error.what();
  }
  return {Grade::kBad,
          "port",
          address + ": " + why + "; is the run there, and does a firewall let this port through?"};
}

// Why the server at this address does not take the pass; empty if it does.
std::string why_not_joined(const std::string& address, const wire::Pass& pass) {
  const auto mailbox = std::make_shared<live::Mailbox<std::string>>();
  const auto transport = wire::connect(
      {.address = address,
       .token = to_text(pass),
       .deadline = kWaits,
       .tried = [mailbox](const std::string& why) { mailbox->post(why); },
       .connections = 1},
      [mailbox](wire::ConnectionEvent event) {
        if (const auto* closed = std::get_if<wire::Closed>(&event)) {
          mailbox->post(closed->why.empty() ? "it closed the connection" : closed->why);
        }
      });
  std::string last = "it does not answer";
  const auto until = soon();
  for (std::vector<std::string> said; steady_clock::now() < until;) {
    mailbox->receive(until, said);
    for (const std::string& why : said) {
      if (why.empty()) {
        return "";
      }
      last = why;
    }
  }
  return last;
}

Finding look_at_code(const job::DoctorJob& job) {
  const wire::JoinCode code = wire::parse_code(live::read_token_file(job.code_file));
  const wire::Pass pass = make_pass(code, wire::draw_secret());
  const std::vector<std::string> addresses =
      job.server.empty() ? code.addresses : std::vector{job.server};
  std::string all;
  for (const std::string& address : addresses) {
    const std::string why = why_not_joined(address, pass);
    if (why.empty()) {
      return {Grade::kGood, "code", "the run at " + address + " takes this machine, over TLS"};
    }
    all += (all.empty() ? "" : "; ") + why;
  }
  return {Grade::kBad, "code", all + " (docs/joining.md)"};
}

bool program_with_libtorch_is_there() {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return std::filesystem::exists(self.parent_path() / "outpace-torch", ignored);
}

}  // namespace

int doctor_run(const job::DoctorJob& job) {
  std::vector<Finding> all;
  const auto tell = [&all](Finding finding) {
    fmt::print("{}\n", to_line(finding));
    std::fflush(stdout);
    all.push_back(std::move(finding));
  };
  tell(look_at_program(program_with_libtorch_is_there()));
  for (Finding& finding : look_at_machine(job.out)) {
    tell(std::move(finding));
  }
  if (!job.python.empty()) {
    tell(look_at_python(job.python));
  }
  if (!job.code_file.empty()) {
    tell(look_at_code(job));
  } else if (!job.server.empty()) {
    tell(look_at_port(job.server));
  }
  const auto bad = std::ranges::count(all, Grade::kBad, &Finding::grade);
  const auto mind = std::ranges::count(all, Grade::kMind, &Finding::grade);
  if (bad > 0) {
    fmt::print("{} in the way of a run\n",
               bad == 1 ? "one thing is" : fmt::format("{} things are", bad));
    return static_cast<int>(ExitCode::kFailure);
  }
  fmt::print("nothing is in the way of a run{}\n",
             mind == 0 ? ""
                       : fmt::format("; {} to mind",
                                     mind == 1 ? "one thing" : fmt::format("{} things", mind)));
  return 0;
}

}  // namespace outpace::run
