// Tested by test/program/dashboard_test.py (class Report).

#include "dashboard/recorded_page.h"

#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dashboard/page_files.h"
#include "watch/board_json.h"
#include "watch/metrics_text.h"

namespace outpace::dashboard {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;

std::string_view body_of(std::string_view path) {
  return find_page_file(path)->body;
}

// REQUIRES: it is there.
void replace(std::string& text, std::string_view old, std::string_view with) {
  text.replace(text.find(old), old.size(), with);
}

// "</script>" in a string would end the element that it stands in.
std::string inside_script(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char letter : text) {
    letter == '<' ? out += "\\u003c" : out += letter;
  }
  return out;
}

}  // namespace

std::string page_record(const watch::Board& board, const std::string& program) {
  const json head{{"outpace_page", kFormat},
                  {"program", program},
                  {"metrics", watch::metrics_text(board, program)}};
  return head.dump(-1, ' ', false, json::error_handler_t::replace) + "\n" +
         watch::whole_frame(board) + "\n";
}

std::optional<RecordedPage> read_page_record(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  std::string first;
  RecordedPage page;
  std::getline(file, first);
  std::getline(file, page.frame);
  const json head = json::parse(first, nullptr, /*allow_exceptions=*/false);
  if (!head.is_object() || head.value("outpace_page", json()) != kFormat ||
      !head.value("metrics", json()).is_string() || !json::accept(page.frame)) {
    throw usage_error(path.string() +
                      " is not what this version of outpace records of a page; without the file "
                      "the page is made from decisions.jsonl");
  }
  page.metrics = head["metrics"].get<std::string>();
  return page;
}

PageContent content_of(RecordedPage page, TraceAtEnd trace) {
  const auto shared = std::make_shared<const RecordedPage>(std::move(page));  // By three functions.
  const json frame = json::parse(shared->frame);
  return {.frame =
              [shared](watch::Cursor& cursor) {
                return std::exchange(cursor.begun, true) ? std::string() : shared->frame;
              },
          .metrics = [shared] { return shared->metrics; },
          .trace = [policy = frame.value("policy", ""),
                    version = frame.value("version", std::uint64_t{0}),
                    trace = std::move(trace)] { return trace(Version{version}, policy); }};
}

std::string page_with(const std::string& runs) {
  std::string text(body_of("/"));
  // Nothing is loaded, and no other site is told of anything.
  replace(text,
          "<meta charset=\"utf-8\">",
          "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none'; script-src 'unsafe-inline'; style-src "
          "'unsafe-inline'; img-src data:\">");
  replace(text, "<html lang=\"en\">", "<html lang=\"en\" class=\"report\">");
  replace(text,
          "<link rel=\"stylesheet\" href=\"/page.css\">",
          fmt::format("<style>\n{}</style>", body_of("/page.css")));
  replace(text,
          "<script src=\"/chart.js\"></script>",
          fmt::format("<script type=\"application/json\" id=\"recorded\">{}</script>\n"
                      "<script>{}</script>",
                      inside_script(runs),
                      body_of("/chart.js")));
  const std::size_t footer = text.find("<footer>");  // Links to what a server has.
  text.erase(footer, text.find("</footer>") - footer + std::string_view("</footer>").size());
  for (const char* script : {"/report.js", "/page.js"}) {
    replace(text,
            fmt::format("<script src=\"{}\"></script>", script),
            fmt::format("<script>\n{}</script>", body_of(script)));
  }
  return text;
}

}  // namespace outpace::dashboard
