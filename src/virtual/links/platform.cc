#include "links/platform.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "links/xml.h"

namespace outpace::links {
namespace {

constexpr std::size_t kHostsMost = 1'000'000;

double bandwidth(const XmlElement& element, const char* key) {
  return element.quantity(key, parse_bandwidth, "above 0 with a unit, such as 125MBps");
}
double latency(const XmlElement& element, const char* key) {
  return element.quantity(key, parse_latency, "of at least 0 with a unit, such as 50us");
}
void check_speed(const XmlElement& element) {
  (void)element.quantity("speed", parse_speed, "above 0 with a unit, such as 1Gf");
}

// Expands "0-3,7" to 0, 1, 2, 3, 7.
std::vector<std::uint64_t> read_radical(const XmlElement& cluster) {
  std::vector<std::uint64_t> numbers;
  const std::string text = cluster.text("radical");
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_count(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_count(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kHostsMost - numbers.size()) {
      throw cluster.wrong("radical is " + shown(text) +
                          "; it takes numbers and ranges of them, such as 0-99,105, and " +
                          std::to_string(kHostsMost) + " hosts at most");
    }
    for (std::uint64_t number = *first; number <= *last; ++number) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

Topology read_cluster(const XmlFile& file, pugi::xml_node node) {
  const XmlElement cluster(
      file, node, {"id", "prefix", "suffix", "radical", "speed", "bw", "lat", "bb_bw", "bb_lat"});
  (void)file.children(node, {});
  check_speed(cluster);
  const std::string id = cluster.text("id");
  Topology result;
  std::set<std::uint64_t> seen;
  for (const std::uint64_t number : read_radical(cluster)) {
    if (!seen.insert(number).second) {
      throw cluster.wrong("radical has " + std::to_string(number) + " twice");
    }
    const std::string text = std::to_string(number);
    result.hosts.push_back(cluster.text("prefix") + text + cluster.text("suffix"));
    for (const char* direction : {"_UP", "_DOWN"}) {
      std::string name = id;
      result.links.push_back({.name = name.append("_link_").append(text).append(direction),
                              .bandwidth = bandwidth(cluster, "bw"),
                              .latency = latency(cluster, "lat")});
    }
  }
  StarRoutes routes;
  if (cluster.has("bb_bw") || cluster.has("bb_lat")) {
    routes.backbone = LinkId(result.links.size());
    result.links.push_back({.name = id + "_backbone",
                            .bandwidth = bandwidth(cluster, "bb_bw"),
                            .latency = latency(cluster, "bb_lat")});
  }
  result.routes = routes;
  return result;
}

// A <zone routing="Full">, in which the file has every route.
class Zone {
 public:
  Zone(const XmlFile& file, pugi::xml_node node) : file_(file) {
    const XmlElement zone(file_, node, {"id", "routing"});
    (void)zone.text("id");
    (void)zone.word("routing", {"Full"});
    const auto parts = file_.children(node, {"host", "link", "route"});
    // Routes come last, because they may name elements after them.
    for (const pugi::xml_node part : parts) {
      if (std::string_view(part.name()) == "host") {
        add_host(part);
      } else if (std::string_view(part.name()) == "link") {
        add_link(part);
      }
    }
    for (const pugi::xml_node part : parts) {
      if (std::string_view(part.name()) == "route") {
        add_route(part);
      }
    }
    check_complete(zone);
    result_.routes = std::move(table_);
  }

  [[nodiscard]] Topology take() { return std::move(result_); }

 private:
  // A link of the file: one of our links or, if it is split, an up link and the down link after it.
  struct Cable {
    LinkId first;
    bool split;
  };
  struct Passage {
    Cable cable;
    bool down;

    [[nodiscard]] LinkId there() const { return cable.split && down ? second() : cable.first; }
    [[nodiscard]] LinkId back() const { return cable.split && !down ? second() : cable.first; }

   private:
    [[nodiscard]] LinkId second() const { return LinkId(index(cable.first) + 1); }
  };

  void add_host(pugi::xml_node node) {
    const XmlElement host(file_, node, {"id", "speed"});
    (void)file_.children(node, {});
    check_speed(host);
    const HostId id{static_cast<std::uint32_t>(result_.hosts.size())};
    result_.hosts.push_back(host.text("id"));
    if (!hosts_.emplace(result_.hosts.back(), id).second) {
      throw host.wrong("a second host of this id");
    }
  }

  void add_link(pugi::xml_node node) {
    const XmlElement link(file_, node, {"id", "bandwidth", "latency", "sharing_policy"});
    (void)file_.children(node, {});
    const std::string id = link.text("id");
    const std::string policy =
        link.has("sharing_policy")
            ? link.word("sharing_policy", {"SHARED", "FATPIPE", "SPLITDUPLEX"})
            : "SHARED";
    const bool split = policy == "SPLITDUPLEX";
    Link made{.name = id + (split ? "_UP" : ""),
              .bandwidth = bandwidth(link, "bandwidth"),
              .latency = latency(link, "latency"),
              .sharing = policy == "FATPIPE" ? Sharing::kFatpipe : Sharing::kShared};
    if (!cables_.emplace(id, Cable{LinkId(result_.links.size()), split}).second) {
      throw link.wrong("a second link of this id");
    }
    result_.links.push_back(made);
    if (split) {
      made.name = id + "_DOWN";
      result_.links.push_back(made);
    }
  }

  void add_route(pugi::xml_node node) {
    const XmlElement route(file_, node, {"src", "dst", "symmetrical"});
    const HostId from = host(route, "src");
    const HostId to = host(route, "dst");
    const bool both_ways =
        !route.has("symmetrical") || route.word("symmetrical", {"YES", "NO"}) == "YES";
    std::vector<Passage> passages;
    for (const pugi::xml_node part : file_.children(node, {"link_ctn"})) {
      passages.push_back(passage(part));
    }
    if (passages.empty()) {
      throw route.wrong("no links; a route takes at least one <link_ctn>");
    }
    std::vector<LinkId> there;
    std::vector<LinkId> back;
    for (const Passage& each : passages) {
      there.push_back(each.there());
      back.insert(back.begin(), each.back());
    }
    add_way(route, {from, to}, std::move(there));
    if (both_ways && from != to) {
      add_way(route, {to, from}, std::move(back));
    }
  }

  [[nodiscard]] HostId host(const XmlElement& route, const char* key) const {
    const auto found = hosts_.find(route.text(key));
    if (found == hosts_.end()) {
      throw route.wrong(std::string(key) + " is " + shown(route.text(key)) +
                        "; it takes the id of a <host>");
    }
    return found->second;
  }

  [[nodiscard]] Passage passage(pugi::xml_node node) const {
    const XmlElement element(file_, node, {"id", "direction"});
    const auto found = cables_.find(element.text("id"));
    if (found == cables_.end()) {
      throw element.wrong("no such link; a route takes the id of a <link>");
    }
    if (found->second.split != element.has("direction")) {
      throw element.wrong(found->second.split
                              ? "direction is missing; a SPLITDUPLEX link has UP and DOWN"
                              : "direction is given; only a SPLITDUPLEX link has one");
    }
    return {found->second,
            element.has("direction") && element.word("direction", {"UP", "DOWN"}) == "DOWN"};
  }

  void add_way(const XmlElement& route, std::pair<HostId, HostId> ends, std::vector<LinkId> links) {
    if (!table_.routes.emplace(ends, std::move(links)).second) {
      throw route.wrong("a second route from " + shown(result_.hosts[index(ends.first)]) + " to " +
                        shown(result_.hosts[index(ends.second)]) +
                        "; a symmetrical route goes both ways");
    }
  }

  void check_complete(const XmlElement& zone) const {
    for (std::uint32_t from = 0; from < result_.hosts.size(); ++from) {
      for (std::uint32_t to = 0; to < result_.hosts.size(); ++to) {
        if (from != to && !table_.routes.contains({HostId{from}, HostId{to}})) {
          throw zone.wrong("no route from " + shown(result_.hosts[from]) + " to " +
                           shown(result_.hosts[to]) + "; every two hosts take one");
        }
      }
    }
  }

  const XmlFile& file_;
  Topology result_;
  RouteTable table_;
  std::map<std::string, HostId> hosts_;
  std::map<std::string, Cable> cables_;
};

}  // namespace

Topology parse_platform(std::string_view text, const std::string& name) {
  const XmlFile file(text, name);
  const auto roots = file.children(file.root(), {"platform"});
  if (roots.size() != 1) {
    throw file.wrong(0, "one <platform> was expected");
  }
  const XmlElement platform(file, roots[0], {"version"});
  (void)platform.word("version", {"4.1"});
  const auto parts = file.children(roots[0], {"cluster", "zone"});
  if (parts.size() != 1) {
    throw platform.wrong(std::to_string(parts.size()) +
                         " clusters and zones; one <cluster> or <zone> was expected");
  }
  Topology result = std::string_view(parts[0].name()) == "cluster" ? read_cluster(file, parts[0])
                                                                   : Zone(file, parts[0]).take();
  if (result.hosts.empty()) {
    throw platform.wrong("no hosts; at least one was expected");
  }
  return result;
}

}  // namespace outpace::links
