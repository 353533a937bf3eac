// tenon report: a plan as one page for a browser, and its predicted timeline as a trace.
#include "sdk/tools/report.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>

#include "converter/json_text.hpp"
#include "sdk/tools/files.hpp"
#include "sdk/tools/json.hpp"
#include "sdk/tools/op_reasons.hpp"
#include "sdk/tools/plan_json.hpp"
#include "sdk/tools/predicted_times.hpp"
#include "sdk/tools/report_files.hpp"
#include "sdk/tools/tool.hpp"
#include "sdk/tools/trace_file.hpp"

namespace tenon::tool {
namespace {

struct ReportOptions {
  std::string plan;
  std::string page;
  std::string trace;
  std::string measured;
};

/// The predicted timeline as a trace; empty where the plan records none.
std::vector<TraceEvent> PredictedEvents(const Json& plan) {
  std::vector<TraceEvent> events;
  const std::vector<PredictedTime> times = PredictedTimes(plan);
  const std::vector<std::string> workers = WorkersOfOps(plan);
  for (size_t i = 0; i < times.size(); ++i) {
    const Json& op = plan["ops"][i];
    const std::string backend = op["backend"].get<std::string>();
    TraceEvent event;
    event.track = TrackName(workers[i], backend);
    event.name = op["name"].get<std::string>();
    event.category = backend;
    event.start_us = 1e3 * times[i].start_ms;
    event.us = 1e3 * times[i].ms;
    event.details = {{"kind", op["kind"].get<std::string>()},
                     {"kernel", op["kernel"].get<std::string>()},
                     {"op", std::to_string(i)}};
    events.push_back(std::move(event));
  }
  return events;
}

// Ordered JSON copies members while it is read, as deep as they go, which a file may make too deep
// for the stack: a trace is read as the other kind, and nothing but numbers are copied.
using Trace = nlohmann::json;

double NumberOf(const Trace& event, const char* key) { return event.at(key).get<double>(); }

/// The bars of the page's timeline, of a trace: {track, op, us, start_us}.
Json BarsOf(const Trace& trace, size_t ops) {
  std::map<double, std::string> names;
  Json bars = Json::array();
  for (const Trace& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M" && event.at("name") == "thread_name") {
      names[NumberOf(event, "tid")] = event.at("args").at("name").get<std::string>();
    }
    if (event.at("ph") != "X") continue;
    const size_t op = std::stoul(event.at("args").at("op").get<std::string>());
    if (op >= ops) Fail(kInputRefused, "the trace is of another plan: it has an op {}", op);
    bars.push_back({{"track", names.at(NumberOf(event, "tid"))},
                    {"op", op},
                    {"start", NumberOf(event, "ts")},
                    {"us", NumberOf(event, "dur")}});
  }
  return bars;
}

Json MeasuredBars(const std::string& file, size_t ops) {
  const std::vector<uint8_t> bytes = ReadFile(file);
  try {
    return BarsOf(Trace::parse(bytes.begin(), bytes.end()), ops);
  } catch (const std::exception&) {  // JSON's, and numbers that are none
    Fail(kInputRefused, "{}: not a trace of 'tenon run' or 'tenon bench'", file);
  }
}

/// What was compared with what is in the plan: {what, ms or bytes}; absent where nothing was.
Json Alternatives(const Json& decisions) {
  Json list = Json::array();
  if (decisions.is_null()) return list;
  const auto add = [&](const char* what, const char* place, const char* unit) {
    const Json value = JsonAt(decisions, place);
    if (value.is_number()) list.push_back({{"what", what}, {"value", value}, {"unit", unit}});
  };
  add("the model's own order", "/time/source_order_ms", "ms");
  add("no order takes less than", "/time/lower_bound_ms", "ms");
  add("the best random order", "/order/ms/random", "ms");
  add("list scheduling", "/order/ms/list", "ms");
  add("one start per op", "/segments/one_start_per_op_ms", "ms");
  add("mapping by the priority table", "/optimal_mapping/table_ms", "ms");
  add("arena in the model's own order", "/memory/source_order_bytes", "bytes");
  add("arena without splits", "/memory/unsplit_bytes", "bytes");
  add("no placement takes less than", "/memory/lower_bound", "bytes");
  return list;
}

Json PageData(const Json& plan, const std::string& name, const std::string& measured) {
  Json data;
  data["plan"] = name;
  for (const char* key : {"board", "format_version", "producer", "constants_bytes", "file_bytes",
                          "inputs", "outputs", "arenas", "tensors", "ops", "segments", "options"}) {
    data[key] = plan[key];
  }
  const std::vector<std::string> workers = WorkersOfOps(plan);
  const std::vector<PredictedTime> times = PredictedTimes(plan);
  for (size_t i = 0; i < plan["ops"].size(); ++i) {
    data["ops"][i]["track"] = TrackName(workers[i], plan["ops"][i]["backend"].get<std::string>());
    data["ops"][i]["why"] = ReasonsOf(plan, i, times);
  }
  data["predicted"] = Json::array();
  for (const TraceEvent& event : PredictedEvents(plan)) {
    data["predicted"].push_back({{"track", event.track},
                                 {"op", std::stoul(event.details.back().second)},
                                 {"start", event.start_us},
                                 {"us", event.us}});
  }
  data["measured"] = measured.empty() ? Json::array() : MeasuredBars(measured, plan["ops"].size());
  const Json& decisions = plan["decisions"];
  if (!decisions.is_null() && !decisions.is_object()) FailDecisions();
  data["figures"] = decisions.is_null() ? Json(nullptr) : decisions.value("predicted", Json());
  data["alternatives"] = Alternatives(decisions);
  return data;
}

void Replace(std::string& page, const std::string& mark, const std::string& text) {
  page.replace(page.find(mark), mark.size(), text);
}

std::string Page(const Json& data) {
  std::string json = JsonText(data, -1);
  // A name may hold "</script>".
  for (size_t at = 0; (at = json.find('<', at)) != std::string::npos;) {
    json.replace(at, 1, "\\u003c");
  }
  std::string page = report_files::page_html;
  Replace(page, "/*STYLE*/", report_files::page_css);
  Replace(page, "/*SCRIPT*/",
          std::string(report_files::charts_js) + report_files::graph_js + report_files::page_js);
  Replace(page, "/*DATA*/", json);
  return page;
}

void Report(const ReportOptions& options) {
  if (options.page.empty() && options.trace.empty()) {
    Fail(kUsage, "nothing to write: give -o FILE.html, --trace FILE, or both");
  }
  const Json plan = ReadPlanJson(options.plan);
  std::string trace;
  std::string page;
  std::vector<NewFile> files;
  if (!options.trace.empty()) {
    const std::vector<TraceEvent> events = PredictedEvents(plan);
    if (events.empty()) {
      Fail(
          kInputRefused,
          "{}: the plan records no predicted times: it was made for firmware, by an older version, "
          "or with --decisions=off; a page without them can be written",
          options.plan);
    }
    trace = TraceJson(events, "tenon, predicted");
    files.push_back({options.trace, trace});
  }
  if (!options.page.empty()) {
    page = Page(PageData(plan, options.plan, options.measured));
    files.push_back({options.page, page});
  }
  WriteFiles(files);
}

}  // namespace

std::string ReportPage(const std::vector<uint8_t>& plan, const std::string& name) {
  return Page(PageData(PlanJson(plan, name), name, /*measured=*/""));
}

void AddReport(CLI::App& app) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand(
      "report",
      "Shows a plan as one page that needs nothing else: timeline, memory map, mapped graph, and "
      "why each op is where it is.");
  command->add_option("PLAN", options->plan, "Plan file (.tenon)")->required();
  command->add_option("-o", options->page, "Write the page there (.html)");
  command->add_option("--measured", options->measured,
                      "A trace of 'tenon run' or 'tenon bench', shown below what was predicted");
  command->add_option("--trace", options->trace,
                      "Write the predicted timeline there, for ui.perfetto.dev or "
                      "chrome://tracing");
  command->callback([options] { Report(*options); });
}

}  // namespace tenon::tool
