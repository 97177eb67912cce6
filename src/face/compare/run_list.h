// The cells of a comparison: one run of this program for each row, trace and seed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "compare/config.h"
#include "job/layers.h"

namespace outpace::compare {

struct Cell {
  std::size_t row;    // In config.rows.
  std::size_t trace;  // In config.traces.
  std::uint64_t seed;
  // Below the output folder: "drifting/ssp-s-3/seed-1". A name that no shell reads otherwise; no
  // two cells have the same.
  std::string place;
  std::string command;              // "train" or "simulate".
  std::vector<job::Given> options;  // The options of that command, without --out.
};

// Seed by seed: who stops early has something of every row and trace.
[[nodiscard]] std::vector<Cell> cells_of(const Config& config);

// The command and its options, one text each: equal texts are an equal run.
[[nodiscard]] std::vector<std::string> identity_of(const Cell& cell);

// What is said of a cell: "drifting, ssp:s=3, seed 1".
[[nodiscard]] std::string name_of(const Config& config, const Cell& cell);

// The line of the file that `message`, an objection to this cell's options, is about: that of the
// first option it names ("--batch") or whose value it quotes ('mpl'), or else of the cell's row.
[[nodiscard]] std::size_t line_of(const Config& config,
                                  const Cell& cell,
                                  const std::string& message);

}  // namespace outpace::compare
