#include "sdk/tools/trace_file.hpp"

#include <map>

#include "converter/json_text.hpp"
#include "sdk/tools/json.hpp"

namespace tenon::tool {

std::string TrackName(const std::string& worker, const std::string& backend) {
  return worker.empty() ? backend : worker;
}

std::string TraceJson(const std::vector<TraceEvent>& events, const std::string& process) {
  std::map<std::string, int> track_ids;
  Json list = Json::array();
  list.push_back(
      {{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", process}}}});
  for (const TraceEvent& event : events) {
    const auto [track, is_new] =
        track_ids.emplace(event.track, static_cast<int>(track_ids.size()) + 1);
    if (is_new) {
      list.push_back({{"ph", "M"},
                      {"pid", 1},
                      {"tid", track->second},
                      {"name", "thread_name"},
                      {"args", {{"name", event.track}}}});
    }
    Json entry = {
        {"ph", "X"},       {"pid", 1},           {"tid", track->second}, {"ts", event.start_us},
        {"dur", event.us}, {"name", event.name}, {"cat", event.category}};
    for (const auto& [key, value] : event.details) entry["args"][key] = value;
    list.push_back(std::move(entry));
  }
  // One event a line: traces are also read by people and by diff. Names come from models, which
  // need not be UTF-8.
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  for (size_t i = 0; i < list.size(); ++i) {
    text += JsonText(list[i], -1);
    text += i + 1 < list.size() ? ",\n" : "\n";
  }
  return text + "]}\n";
}

}  // namespace tenon::tool
