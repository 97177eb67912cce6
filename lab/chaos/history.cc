#include "chaos/history.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace outpace::chaos {

using nlohmann::json;

std::string to_line(const Record& record) {
  nlohmann::ordered_json line{{"at", record.at}, {"who", record.who}};
  if (record.process != 0) {
    line["process"] = record.process;
  }
  line["what"] = record.what;
  for (const auto& [name, value] : record.more.items()) {
    line[name] = value;
  }
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<Record> parse_record(std::string_view line) {
  json all = json::parse(line, nullptr, false);
  if (!all.is_object() || !all.contains("at") || !all["at"].is_number_integer() ||
      !all.contains("who") || !all["who"].is_string() || !all.contains("what") ||
      !all["what"].is_string()) {
    return std::nullopt;
  }
  Record record{.at = all["at"], .who = all["who"], .what = all["what"]};
  if (all.contains("process") && all["process"].is_number_integer()) {
    record.process = all["process"];
  }
  for (const char* own : {"at", "who", "process", "what"}) {
    all.erase(own);
  }
  record.more = std::move(all);
  return record;
}

std::vector<Record> merge(const std::vector<std::string>& texts) {
  std::vector<Record> records;
  for (const std::string& text : texts) {
    for (const std::string_view line : split(text, '\n')) {
      if (std::optional<Record> record = parse_record(line)) {
        records.push_back(std::move(*record));
      }
    }
  }
  std::ranges::stable_sort(records, {}, &Record::at);
  return records;
}

}  // namespace outpace::chaos
