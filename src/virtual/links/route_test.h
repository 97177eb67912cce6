// How tests read a route.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "links/topology.h"

namespace outpace::links {

// The names of its links, with blanks between them.
inline std::string route(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  std::vector<LinkId> links;
  topology.route(HostId{from}, HostId{to}, links);
  std::string names;
  for (const LinkId link : links) {
    names += (names.empty() ? "" : " ") + topology.links.at(index(link)).name;
  }
  return names;
}

}  // namespace outpace::links
