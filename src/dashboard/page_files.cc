// Tested by test/program/dashboard_test.py (class Page).

#include "dashboard/page_files.h"

#include <array>

#include "page_bodies.h"

namespace outpace::dashboard {
namespace {

constexpr std::array<PageFile, 4> kFiles{
    {{"/", "text/html; charset=utf-8", kIndexHtml},
     {"/page.css", "text/css; charset=utf-8", kPageCss},
     {"/page.js", "text/javascript; charset=utf-8", kPageJs},
     {"/chart.js", "text/javascript; charset=utf-8", kChartJs}}};

}  // namespace

const PageFile* find_page_file(std::string_view path) {
  for (const PageFile& file : kFiles) {
    if (file.path == path) {
      return &file;
    }
  }
  return nullptr;
}

}  // namespace outpace::dashboard
