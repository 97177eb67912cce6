// The code by which machines join a job at present, and the passes that were given numbers.
//
// A pass of the present code is let in, whatever its name. Once a worker has a number by it, it is
// let in also when there is a new code, until the worker is sent away. Both are kept in a file of
// mode 0600 in the run's directory, so that a server that goes on knows them.

#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "wire/passes.h"

namespace outpace::live {

class Keyring final : public wire::Passes {
 public:
  // With a new code, or as the file has it. The file may lack, and is not made yet. Throws Error if
  // it is none of ours.
  Keyring(std::filesystem::path file, const wire::Fingerprint& authority);

  // Where machines reach the server: the code says so.
  void reached_at(std::vector<std::string> addresses);
  [[nodiscard]] std::string code() const;
  // From now on the code is another. Throws Error if it cannot be kept, and stays as it was.
  std::string renew();
  // This pass has that number.
  void seat(WorkerId worker, const wire::KeyName& pass);
  // The passes that have a number, by a text of their name.
  [[nodiscard]] std::map<WorkerId, std::string> seats() const;
  // From now on this pass is worth nothing, and the code is another; the pass was made of an older
  // one. Throws Error if that cannot be kept: it holds all the same while this process lives.
  void shut_out(const std::string& pass);
  // To another file; writes it.
  void keep_in(std::filesystem::path file);

  [[nodiscard]] std::optional<std::array<char, 32>> find(const wire::KeyName& name) override;
  // A key's name as text. Empty: the token's.
  [[nodiscard]] static std::string text_of(const wire::KeyName& name);

 private:
  struct Seated {
    wire::KeyName name;
    std::array<char, 32> key{};
  };
  void read();
  void save() const;

  mutable std::mutex mutex_;
  std::filesystem::path file_;
  wire::JoinCode code_;
  std::map<WorkerId, Seated> seated_;
};

}  // namespace outpace::live
