#include "links/shapes.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

namespace outpace::links {
namespace {

constexpr std::uint64_t kPortsMost = 160;  // A million hosts.
constexpr double kLatencyMost = 1e3;

struct Cable {
  double bandwidth;
  double latency;
};

void add_pair(const std::string& name, Cable cable, Topology& out) {
  for (const char* direction : {".up", ".down"}) {
    out.links.push_back(
        {.name = name + direction, .bandwidth = cable.bandwidth, .latency = cable.latency});
  }
}

void add_hosts(std::uint64_t hosts, Cable cable, Topology& out) {
  for (std::uint64_t i = 0; i < hosts; ++i) {
    out.hosts.push_back("host" + std::to_string(i));
    add_pair(out.hosts.back(), cable, out);
  }
}

double read_latency(SpecReader& spec) {
  return spec.seconds("latency", 0.0, 0.0, kLatencyMost);
}

Topology make_star(SpecReader& spec, const ShapeOptions& options) {
  const Cable cable{options.bandwidth, read_latency(spec)};
  spec.finish();
  Topology result;
  add_hosts(options.hosts, cable, result);
  result.routes = StarRoutes{};
  return result;
}

Topology make_tree(SpecReader& spec, const ShapeOptions& options) {
  const std::uint64_t racks = spec.count("racks", std::nullopt, 1, options.hosts);
  const double oversubscription = spec.number("oversubscription", 1.0, 1e-3, 1e3);
  const Cable cable{options.bandwidth, read_latency(spec)};
  const double latency = spec.seconds("uplink_latency", cable.latency, 0.0, kLatencyMost);
  spec.finish();
  const std::uint64_t hosts = (options.hosts + racks - 1) / racks;  // Per rack.
  const double all_together = static_cast<double>(hosts) * cable.bandwidth;
  Topology result;
  add_hosts(racks * hosts, cable, result);
  for (std::uint64_t rack = 0; rack < racks; ++rack) {
    add_pair("rack" + std::to_string(rack), {all_together / oversubscription, latency}, result);
  }
  result.routes = TreeRoutes{.racks = racks, .hosts_per_rack = hosts};
  return result;
}

std::uint64_t hosts_of_fat_tree(std::uint64_t ports) {
  return ports * ports * ports / 4;
}

Topology make_fat_tree(SpecReader& spec, const ShapeOptions& options) {
  std::uint64_t least = 2;
  while (hosts_of_fat_tree(least) < options.hosts) {
    least += 2;
  }
  const std::uint64_t ports = spec.count("k", least, least, kPortsMost);
  if (ports % 2 != 0) {
    throw usage_error("shape 'fat-tree': k is '" + std::to_string(ports) +
                      "'; it takes an even number");
  }
  const std::uint64_t half = ports / 2;
  const Cable cable{options.bandwidth, read_latency(spec)};
  spec.finish();
  Topology result;
  add_hosts(hosts_of_fat_tree(ports), cable, result);
  const auto add_level = [&](const std::string& lower, const std::string& upper) {
    for (std::uint64_t from = 0; from < 2 * half * half; ++from) {
      for (std::uint64_t to = 0; to < half; ++to) {
        std::string name = lower;
        name.append(std::to_string(from)).append("-").append(upper).append(std::to_string(to));
        add_pair(name, cable, result);
      }
    }
  };
  add_level("edge", "aggregation");
  add_level("aggregation", "core");
  result.routes = FatTreeRoutes{.half = half};
  return result;
}

struct Shape {
  std::string name;
  Topology (*make)(SpecReader& spec, const ShapeOptions& options);
};

}  // namespace

Topology make_shape(const Spec& spec, const ShapeOptions& options) {
  CHECK(options.hosts >= 1 && options.bandwidth > 0);
  static const std::array<Shape, 3> kShapes{
      {{"star", make_star}, {"tree", make_tree}, {"fat-tree", make_fat_tree}}};
  std::vector<std::string> names;
  for (const Shape& shape : kShapes) {
    if (shape.name == spec.name) {
      SpecReader reader("shape", spec);
      return shape.make(reader, options);
    }
    names.push_back(shape.name);
  }
  throw usage_error("unknown shape '" + spec.name + "'" + suggestion(spec.name, names));
}

}  // namespace outpace::links
