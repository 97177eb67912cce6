// Reads a SimGrid platform file with one <cluster>, or one <zone routing="Full">, of version 4.1.
//
//   <cluster id prefix suffix radical speed bw lat [bb_bw bb_lat]/>   radical: "0-99,105"
//   <zone id routing="Full">
//     <host id speed/>
//     <link id bandwidth latency [sharing_policy]/>       SHARED, FATPIPE or SPLITDUPLEX
//     <route src dst [symmetrical]> <link_ctn id [direction]/> ... </route>
//   </zone>
//
// The meaning is that of SimGrid 3.32. A SHARED link is one link for both directions. A SPLITDUPLEX
// link is two, "id_UP" and "id_DOWN"; a cluster's hosts have such links. A host's speed is checked
// but not used, because a runtime model says how long a worker takes. Anything else is refused with
// its name and line.

#pragma once

#include <string>
#include <string_view>

#include "links/topology.h"

namespace outpace::links {

// `name` is the file's, for messages. Throws a usage error such as "small.xml:7: ...".
[[nodiscard]] Topology parse_platform(std::string_view text, const std::string& name);

}  // namespace outpace::links
