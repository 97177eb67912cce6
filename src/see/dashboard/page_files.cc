// Tested by test/program/dashboard_test.py (class Page).

#include "dashboard/page_files.h"

#include <array>

#include "page_bodies.h"

namespace outpace::dashboard {
namespace {

constexpr std::array<PageFile, 5> kFiles{
    {{"/", "text/html; charset=utf-8", kIndexHtml},
     {"/page.css", "text/css; charset=utf-8", kPageCss},
     {"/page.js", "text/javascript; charset=utf-8", kPageJs},
     {"/report.js", "text/javascript; charset=utf-8", kReportJs},
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
