// The files of the page, as the build put them into the program (cmake/page.cmake).

#pragma once

#include <string_view>

namespace outpace::dashboard {

struct PageFile {
  std::string_view path;  // "/page.js".
  std::string_view type;  // "text/javascript; charset=utf-8".
  std::string_view body;
};

// Null if there is none of this path.
[[nodiscard]] const PageFile* find_page_file(std::string_view path);

}  // namespace outpace::dashboard
