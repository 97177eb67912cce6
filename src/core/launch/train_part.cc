#include "launch/train_part.h"

#include <string_view>

#include "base/error.h"
#include "base/local_address.h"

namespace outpace::launch {
namespace {

std::uint32_t workers_of(const Place& place, const TrainPartOptions& options) {
  if (!place.world && !options.workers) {
    throw usage_error("--workers is missing: " + place.title +
                      " does not say how many processes there are");
  }
  const std::uint32_t workers = place.world.value_or(options.workers.value_or(0));
  if (options.workers && *options.workers != workers) {
    throw usage_error("--workers is " + std::to_string(*options.workers) + ", but " + place.title +
                      " started " + std::to_string(workers) + " processes (" +
                      place.world_variable + "), and each is a worker; leave --workers out");
  }
  if (place.rank >= workers) {
    throw usage_error(place.rank_variable + " is " + std::to_string(place.rank) +
                      " and --workers is " + std::to_string(workers) +
                      ": a rank is less than the number of workers");
  }
  return workers;
}

// The other processes use the address as it is written, so it must lead to the first process from
// every machine.
void check_known_to_all(const std::string& listen) {
  const bool anywhere = listen.starts_with("0.0.0.0:") || listen.starts_with("[::]:");
  if (!listen.starts_with("unix:") && (anywhere || listen.ends_with(":0"))) {
    throw usage_error("--listen " + listen +
                      ": all processes connect there; name the first one's machine and a port");
  }
}

std::string address_of(const Variables& variables,
                       const Place& place,
                       const TrainPartOptions& options) {
  if (!options.listen.empty()) {
    check_known_to_all(options.listen);
    return options.listen;
  }
  if (place.one_machine) {
    return "unix:" + options.token_file + ".socket";
  }
  const auto address = server_address(variables, place);
  if (!address) {
    throw usage_error("--listen is missing: " + place.title +
                      " does not say where its first process is; name that machine and a port");
  }
  return *address;
}

}  // namespace

std::string why_no_place(const std::string& choice) {
  return choice == kNoLauncher ? "--launcher is none"
                               : "none of the variables of torchrun, srun, mpirun, mpiexec or an "
                                 "Indexed Job is set";
}

std::string worker_in_words(const Place& place, std::optional<std::uint32_t> workers) {
  return "worker " + std::to_string(place.rank) +
         (workers ? " of " + std::to_string(*workers) : "") +
         (place.local_rank ? ", local rank " + std::to_string(*place.local_rank) : "") + " (" +
         place.rank_variable + " of " + place.title + ")";
}

bool may_listen_everywhere(const TrainPart& part) {
  const std::string_view host = std::string_view(part.address).substr(0, part.address.rfind(':'));
  const bool numbers =
      host.starts_with('[') || host.find_first_not_of("0123456789.") == std::string_view::npos;
  return !part.place.one_machine && !is_local(part.address) && !numbers;
}

std::optional<TrainPart> find_train_part(const Variables& variables,
                                         const TrainPartOptions& options) {
  const auto place = find_place(variables, options.launcher);
  if (options.token_file.empty()) {
    if (place && place->world.value_or(1) > 1) {
      throw usage_error(place->title + " started " + std::to_string(*place->world) +
                        " processes (" + place->world_variable +
                        "): for one run of them all, give --token-file FILE, which they share; "
                        "for a run of each, --launcher none");
    }
    return std::nullopt;
  }
  if (!place) {
    throw usage_error("--token-file is for a run whose processes a launcher starts: " +
                      why_no_place(options.launcher));
  }
  const std::uint32_t workers = workers_of(*place, options);
  return TrainPart{*place, workers, address_of(variables, *place, options)};
}

}  // namespace outpace::launch
