#include "live/keyring.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "protocol/messages.h"

namespace outpace::live {
namespace {

using nlohmann::json;

template <typename Bytes>
std::string hex(const Bytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += {kDigits[value >> 4U], kDigits[value & 15U]};
  }
  return text;
}

// False if the text is not as many bytes in hexadecimal digits.
template <typename Bytes>
bool from_hex(const std::string& text, Bytes& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() != 2 * bytes.size() || text.find_first_not_of(kDigits) != std::string::npos) {
    return false;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<typename Bytes::value_type>(kDigits.find(text[2 * i]) << 4U |
                                                       kDigits.find(text[2 * i + 1]));
  }
  return true;
}

// A file that nobody else can read, whole or not at all.
void write_secret(const std::filesystem::path& path, const std::string& text) {
  const std::string partial = path.string() + ".partial";
  ::unlink(partial.c_str());
  const int file =
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  bool written = file >= 0 &&
                 ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                 ::fsync(file) == 0;
  if (file >= 0) {
    ::close(file);
  }
  written = written && ::rename(partial.c_str(), path.c_str()) == 0;
  if (!written) {
    const int error = errno;
    ::unlink(partial.c_str());
    throw Error(ExitCode::kFailure,
                path.string() + ": cannot write the job's codes: " + std::strerror(error));
  }
}

}  // namespace

Keyring::Keyring(std::filesystem::path file, const wire::Fingerprint& authority)
    : file_(std::move(file)) {
  code_.secret = wire::draw_secret();
  std::error_code unknown;
  if (std::filesystem::exists(file_, unknown)) {
    read();
  }
  code_.authority = authority;
}

void Keyring::read() {
  std::ifstream file(file_);
  const json found = json::parse(file, nullptr, /*allow_exceptions=*/false);
  bool good = found.is_object() && found.contains("passes");
  try {
    if (good) {
      code_.generation = found.at("generation").get<std::uint32_t>();
      good = from_hex(found.at("secret").get<std::string>(), code_.secret);
      for (const json& one : found.at("passes")) {
        Seated seated;
        seated.name.generation = one.at("generation").get<std::uint32_t>();
        const auto worker = one.at("worker").get<std::uint32_t>();
        good = good && worker < protocol::kWorkersMax &&
               from_hex(one.at("name").get<std::string>(), seated.name.pass) &&
               from_hex(one.at("key").get<std::string>(), seated.key);
        seated_[WorkerId{worker}] = seated;
      }
    }
  } catch (const json::exception&) {
    good = false;
  }
  if (!good) {
    throw Error(ExitCode::kUnreadable, file_.string() + ": not the codes of a job");
  }
}

void Keyring::save() const {
  if (file_.empty()) {
    return;
  }
  json passes = json::array();
  for (const auto& [worker, seated] : seated_) {
    passes.push_back({{"worker", index(worker)},
                      {"generation", seated.name.generation},
                      {"name", hex(seated.name.pass)},
                      {"key", hex(seated.key)}});
  }
  const json all{
      {"generation", code_.generation}, {"secret", hex(code_.secret)}, {"passes", passes}};
  write_secret(file_, all.dump(1) + "\n");
}

void Keyring::reached_at(std::vector<std::string> addresses) {
  const std::lock_guard lock(mutex_);
  code_.addresses = std::move(addresses);
}

std::string Keyring::code() const {
  const std::lock_guard lock(mutex_);
  return to_text(code_);
}

std::string Keyring::renew() {
  const std::lock_guard lock(mutex_);
  const wire::JoinCode before = code_;
  ++code_.generation;
  code_.secret = wire::draw_secret();
  try {
    save();
  } catch (...) {
    code_ = before;
    throw;
  }
  return to_text(code_);
}

void Keyring::seat(WorkerId worker, const wire::KeyName& pass) {
  const std::lock_guard lock(mutex_);
  const auto known =
      std::ranges::find_if(seated_, [&](const auto& one) { return one.second.name == pass; });
  const auto key = known != seated_.end() ? known->second.key : pass_key(code_.secret, pass);
  seated_[worker] = {.name = pass, .key = key};
  save();
}

std::map<WorkerId, std::string> Keyring::seats() const {
  const std::lock_guard lock(mutex_);
  std::map<WorkerId, std::string> found;
  for (const auto& [worker, seated] : seated_) {
    found[worker] = text_of(seated.name);
  }
  return found;
}

void Keyring::shut_out(const std::string& pass) {
  const std::lock_guard lock(mutex_);
  std::erase_if(seated_, [&](const auto& one) { return text_of(one.second.name) == pass; });
  ++code_.generation;
  code_.secret = wire::draw_secret();
  save();
}

void Keyring::keep_in(std::filesystem::path file) {
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
  save();
}

std::optional<std::array<char, 32>> Keyring::find(const wire::KeyName& name) {
  const std::lock_guard lock(mutex_);
  const auto seated =
      std::ranges::find_if(seated_, [&](const auto& one) { return one.second.name == name; });
  if (seated != seated_.end()) {
    return seated->second.key;
  }
  return name.generation == code_.generation ? std::optional(pass_key(code_.secret, name))
                                             : std::nullopt;
}

std::string Keyring::text_of(const wire::KeyName& name) {
  return name.is_token() ? "" : std::to_string(name.generation) + "-" + hex(name.pass);
}

}  // namespace outpace::live
