// Values of a TOML file as the texts that they would be on the command line.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "base/error.h"

namespace outpace::job {

// A text, number or truth value as text. Throws a usage error that begins with `where` for others.
[[nodiscard]] std::string toml_text(const toml::node& node, const std::string& where);

// The text of each element of an array, or of the only value.
[[nodiscard]] std::vector<std::string> toml_texts(const toml::node& node, const std::string& where);

// Throws a usage error if its values nest deeper than the parser can take.
void check_nesting(std::string_view text, const std::string& path);

// What the parser says of the file at `path`, in one line: "path:line: ...".
[[nodiscard]] Error toml_error(const toml::parse_error& error, const std::string& path);

}  // namespace outpace::job
