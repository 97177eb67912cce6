// Reads a platform file of SimGrid: one <cluster>, or one <zone routing="Full">, of version 4.1.
//
//   <cluster id prefix suffix radical speed bw lat [bb_bw bb_lat]/>   radical: "0-99,105"
//   <zone id routing="Full">
//     <host id speed/>
//     <link id bandwidth latency [sharing_policy]/>       SHARED, FATPIPE or SPLITDUPLEX
//     <route src dst [symmetrical]> <link_ctn id [direction]/> ... </route>
//   </zone>
//
// The meaning is SimGrid 3.32's. A SHARED link is one link for both directions; a SPLITDUPLEX link
// is two, "id_UP" and "id_DOWN", and a cluster's hosts have such. A host's speed is checked and not
// used: how long a worker takes is a runtime model's. Everything else is refused, by name and line.

#pragma once

#include <string>
#include <string_view>

#include "links/topology.h"

namespace outpace::links {

// `name` is the file's, for messages. Throws a usage error such as "small.xml:7: ...".
[[nodiscard]] Topology parse_platform(std::string_view text, const std::string& name);

}  // namespace outpace::links
