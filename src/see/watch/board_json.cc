#include "watch/board_json.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "watch/decision_text.h"

namespace outpace::watch {
namespace {

// Appends to the text, with no tree in between: two times a second, of hundreds of workers.
class JsonText {
 public:
  template <typename... Values>
  JsonText& raw(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
    return *this;
  }
  // Four digits are more than a screen shows. JSON has no word for a number that is not finite.
  JsonText& number(double value) {
    return std::isfinite(value) ? raw("{:.6g}", value) : raw("null");
  }
  JsonText& number(const std::optional<double>& value) {
    return value ? number(*value) : raw("null");
  }
  JsonText& text(std::string_view text) {
    return raw("{}",
               nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  // Appends a list of what `each` appends for the elements from `first` on.
  template <typename List, typename Each>
  JsonText& list(const List& all, std::size_t first, Each each) {
    raw("[");
    for (std::size_t i = first; i < all.size(); ++i) {
      raw("{}", i == first ? "" : ",");
      each(all[i], i);
    }
    return raw("]");
  }
  [[nodiscard]] std::string take() const { return fmt::to_string(out_); }

 private:
  fmt::memory_buffer out_;
};

// Where those elements begin that the reader lacks, in a list that keeps the newest of `said`.
std::size_t first_new(std::size_t kept, std::uint64_t said, std::uint64_t& got) {
  const std::uint64_t fresh = std::min<std::uint64_t>(kept, said - std::min(got, said));
  got = said;
  return kept - fresh;
}

void add_about(const Board& board, const Lanes& lanes, JsonText& out) {
  const About& about = board.about();
  out.raw(R"("about":{{"name":)").text(about.name).raw(R"(,"network":)").text(about.network);
  out.raw(R"(,"data":)").text(about.data).raw(R"(,"run":)").text(about.run);
  out.raw(R"(,"workers":{},"alone":{},"target":)", about.workers, about.updates_alone());
  out.number(about.target).raw(R"(,"target_updates":{},)", about.target_updates);
  out.raw(R"("cell":{}}},)", lanes.cell_seconds());
}

// All points; and the sums now, if they are newer.
std::vector<Point> points_until_now(const Board& board) {
  std::vector<Point> points = board.course().points();
  Point now = board.sums();
  now.seconds = to_seconds(board.now());
  if (points.empty() || now.seconds > points.back().seconds) {
    points.push_back(now);
  }
  return points;
}

void add_points(const std::vector<Point>& points, std::size_t first, JsonText& out) {
  out.list(points, first, [&out](const Point& one, std::size_t) {
    out.raw("[{:.3f},{},{},{},", one.seconds, one.version, one.gradients, one.applied);
    out.raw("{:.0f},{:.0f},{:.0f},", one.dropped, one.cancelled, one.waiting);
    out.number(one.loss).raw(",{},", one.live).number(one.update_seconds).raw(",");
    out.number(one.gain).raw("]");
  });
}

void add_course(const Board& board, bool whole, Cursor& cursor, JsonText& out) {
  const Series<Point>& course = board.course();
  const bool again = cursor.points_thinned != course.thinned();
  const std::size_t first = again ? 0 : cursor.points;
  cursor.points = course.points().size();
  cursor.points_thinned = course.thinned();
  out.raw(R"("points_again":{},"points":)", again);
  whole ? add_points(points_until_now(board), 0, out) : add_points(course.points(), first, out);
  const Series<Evaluated>& evaluations = board.evaluations();
  const bool evaluations_again = cursor.evaluations_thinned != evaluations.thinned();
  const std::size_t first_evaluation = evaluations_again ? 0 : cursor.evaluations;
  cursor.evaluations = evaluations.points().size();
  cursor.evaluations_thinned = evaluations.thinned();
  out.raw(R"(,"evaluations_again":{},"evaluations":)", evaluations_again);
  out.list(evaluations.points(), first_evaluation, [&out](const Evaluated& one, std::size_t) {
    out.raw("[{:.3f},{},{},", one.seconds, one.version, one.examples);
    out.number(one.accuracy).raw(",").number(one.loss);
    for (const protocol::NamedValue& value : one.values) {
      out.raw(",[").text(value.name).raw(",").number(value.value).raw("]");
    }
    out.raw("]");
  });
}

void add_lanes(const Lanes& lanes, Cursor& cursor, JsonText& out) {
  const std::uint64_t first = std::max(cursor.cells, lanes.oldest());
  cursor.cells = lanes.closed();
  out.raw(R"(,"first_cell":{},"cells":{},"lanes":[)", first, lanes.closed() - first);
  std::string digits;
  for (std::size_t i = 0; i < lanes.workers(); ++i) {
    digits.clear();
    lanes.write(WorkerId{static_cast<std::uint32_t>(i)}, first, digits);
    out.raw("{}\"{}\"", i == 0 ? "" : ",", digits);
  }
  out.raw("]");
}

void add_workers(const Board& board, JsonText& out) {
  constexpr std::string_view kWords[] = {
      "absent", "computing", "sending", "waiting", "cancelled", "gone", "stalled"};
  out.raw(R"(,"workers":)");
  out.list(board.workers(), 0, [&](const WorkerView& one, std::size_t i) {
    const WorkerId id{static_cast<std::uint32_t>(i)};
    std::vector<float> sample = one.sample();
    std::ranges::sort(sample);
    const auto at = [&sample](double share) {
      const auto last = static_cast<double>(sample.size() - 1);
      return sample.empty() ? std::nullopt
                            : std::optional<double>(
                                  sample[static_cast<std::size_t>(std::lround(share * last))]);
    };
    out.raw(R"({{"doing":"{}","low":)", kWords[static_cast<std::size_t>(board.lanes().doing(id))]);
    out.number(at(0.1)).raw(R"(,"median":)").number(at(0.5)).raw(R"(,"high":)").number(at(0.9));
    out.raw(R"(,"slow":)").number(board.slow().factor(id)).raw(R"(,"joined":{},)", one.joined);
    out.raw(R"("longer":{},)", one.longer());
    out.raw(
        R"("accepted":{},"dropped":{},"cancelled":{},)", one.accepted, one.dropped, one.abandoned);
    out.raw(R"("host":)").text(one.host).raw("}}");
  });
}

void add_expected(const Board& board, JsonText& out) {
  out.raw(R"(,"expected":)");
  if (!board.expected()) {
    out.raw("null");
    return;
  }
  const policy::Outlook& expected = *board.expected();
  out.raw(R"({{"gradients":{},"seconds":)", expected.gradients).number(expected.seconds);
  out.raw(R"(,"for_all":)").number(expected.seconds_for_all).raw(R"(,"bands":)");
  out.list(expected.bands, 0, [&out](const policy::Outlook::Band& band, std::size_t) {
    out.raw("[{},", index(band.worker)).number(band.low).raw(",").number(band.median).raw(",");
    out.number(band.high).raw("]");
  });
  out.raw("}}");
}

void add_lines(const Board& board, Cursor& cursor, JsonText& out) {
  const auto& told = board.told();
  out.raw(R"(,"decisions":)");
  out.list(told,
           first_new(told.size(), board.decisions(), cursor.decisions),
           [&out](const Told& one, std::size_t) {
             out.raw("[{:.3f},", to_seconds(one.at)).text(in_words(one.event)).raw(",");
             out.text(in_words(one.actions)).raw(",");
             out.text(one.reason_words.empty() ? to_words(one.reason) : one.reason_words).raw("]");
           });
  const auto& news = board.news();
  out.raw(R"(,"news":)");
  out.list(news,
           first_new(news.size(), board.news_said(), cursor.news),
           [&out](const NewsLine& one, std::size_t) {
             out.raw("[{:.3f},", to_seconds(one.at)).text(one.words).raw("]");
           });
  const auto& alarms = board.alarms().log();
  out.raw(R"(,"alarms":)");
  out.list(alarms,
           first_new(alarms.size(), board.alarms().said(), cursor.alarms),
           [&out](const Alarm& one, std::size_t) {
             out.raw(R"([{:.3f},"{}",{},)", to_seconds(one.at), to_text(one.kind), one.over);
             out.text(one.words).raw("]");
           });
  out.raw(R"(,"on":[)");
  bool first = true;
  for (const auto& [key, alarm] : board.alarms().on()) {
    out.raw("{}", std::exchange(first, false) ? "" : ",").text(alarm.words);
  }
  out.raw("]");
}

void add_carried(const protocol::Carried& carried, JsonText& out) {
  out.raw(R"({{"payloads":{},"bytes":{},"ratio":)", carried.payloads, carried.bytes);
  out.number(carried.ratio()).raw("}}");
}

void add_server(const Board& board, JsonText& out) {
  const ServerUse& use = board.server();
  out.raw(R"(,"server":{{"seconds_a_gradient":)").number(use.seconds_a_gradient);
  out.raw(R"(,"processor_seconds":)").number(use.processor_seconds);
  out.raw(
      R"(,"resident":{},"gradient_bytes":{},"disk_free":)", use.resident_bytes, use.gradient_bytes);
  out.number(use.disk_free_share).raw(R"(,"gradients":)");
  add_carried(use.traffic.gradients, out);
  out.raw(R"(,"weights":)");
  add_carried(use.traffic.weights, out);
  out.raw("}}");
}

}  // namespace

namespace {

std::string frame_of(const Board& board, bool whole, Cursor& cursor) {
  const Lanes& lanes = whole ? board.whole_lanes() : board.lanes();
  JsonText out;
  out.raw(R"({{"begins":{},)", !cursor.begun);
  if (!cursor.begun) {
    add_about(board, lanes, out);
    cursor.points_thinned = board.course().thinned();
    cursor.evaluations_thinned = board.evaluations().thinned();
  }
  cursor.begun = true;
  const Point& sums = board.sums();
  out.raw(R"("policy":)").text(board.about().name);
  out.raw(R"(,"now":{:.3f},"live":{},"ended":)", to_seconds(board.now()), sums.live);
  out.text(board.why_ended()).raw(R"(,"version":{},)", sums.version);
  out.raw(R"("applied":{},"restarts":{},"checkpoints":{},"last_checkpoint":)",
          sums.applied,
          board.restarts(),
          board.checkpoints());
  const auto checkpoint = board.last_checkpoint();
  out.number(checkpoint ? std::optional(to_seconds(*checkpoint)) : std::nullopt);
  out.raw(R"(,"loss":)").number(sums.loss).raw(R"(,"rate":)").number(board.rate());
  out.raw(R"(,"update_seconds":)").number(board.update_seconds());
  out.raw(R"(,"gain":)").text(board.gain_in_words()).raw(",");
  add_course(board, whole, cursor, out);
  add_lanes(lanes, cursor, out);
  add_workers(board, out);
  add_expected(board, out);
  out.raw(R"(,"staleness":)");
  out.list(board.staleness(), 0, [&out](std::uint64_t one, std::size_t) { out.raw("{}", one); });
  add_lines(board, cursor, out);
  add_server(board, out);
  out.raw("}}");
  return out.take();
}

}  // namespace

std::string frame(const Board& board, Cursor& cursor) {
  return frame_of(board, false, cursor);
}

std::string whole_frame(const Board& board) {
  Cursor cursor;
  return frame_of(board, true, cursor);
}

}  // namespace outpace::watch
