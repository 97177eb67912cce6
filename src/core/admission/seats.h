// The numbers of workers that came by passes (wire/join_code.h): a pass owns the numbers that it
// was given, and no other peer takes part under them, until it is shut out.
//
// A number that nobody owns is given first. When there is none left, one is taken whose worker has
// said goodbye; a worker that was lost may come back, so its number stays its own.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace outpace::admission {

class Seats {
 public:
  // A pass by a name of its own; empty: the peer has the job's token.
  using Pass = std::string;

  // `from`: the first number that is given. `to`: one past the last. `owned`: given before.
  Seats(std::uint32_t from, std::uint32_t to, const std::map<WorkerId, Pass>& owned);

  // The first `wanted` numbers of the pass, new ones if it has fewer. `taken`: under this number a
  // peer takes part at present. Nothing if there are too few. REQUIRES: the pass is not empty.
  [[nodiscard]] std::optional<std::vector<WorkerId>> give(
      const Pass& pass, std::uint32_t wanted, const std::function<bool(WorkerId)>& taken);
  // Why this peer cannot take part under this number; empty if it can.
  [[nodiscard]] std::string why_not(const Pass& pass, WorkerId worker) const;
  // The worker has said goodbye, or is here again.
  void left(WorkerId worker);
  void here(WorkerId worker);
  // The machine is gone: those of its numbers under which nobody ever came are nobody's again.
  void gave_up(const Pass& pass);
  // The pass that owns the number, whose numbers nobody owns from now on. Empty if none does.
  Pass take_back(WorkerId worker);
  [[nodiscard]] std::vector<WorkerId> of(const Pass& pass) const;
  // Empty: nobody owns the number.
  [[nodiscard]] Pass owner(WorkerId worker) const;

 private:
  struct Seat {
    Pass owner;
    bool left = false;
    bool came = false;  // A worker was here under it.
  };

  const std::uint32_t from_;
  const std::uint32_t to_;
  std::map<WorkerId, Seat> seats_;  // Those that are owned.
};

}  // namespace outpace::admission
