#include "sdk/tools/op_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sdk/tools/json.hpp"
#include "sdk/tools/plan_json.hpp"

namespace tenon::tool {
namespace {

using Lines = std::vector<std::string>;

std::string Text(const Json& json) { return json.get<std::string>(); }

/// Entries of the decisions are of whole ops; parts of a split op are called after it.
bool IsAbout(const std::string& entry, const std::string& op) {
  if (op == entry) return true;
  return op.size() > entry.size() + 1 && op.starts_with(entry) &&
         std::string("/:#.").find(op[entry.size()]) != std::string::npos;
}

bool Contains(const Json& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const Json& entry) { return entry == name; });
}

void AddTensors(const Json& plan, const Json& op, const char* side, const char* verb,
                Lines& lines) {
  for (const Json& name : op[side]) {
    const Json& tensors = plan["tensors"];
    const auto found = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const Json& t) { return t["name"] == name; });
    if (found == tensors.end()) continue;
    const Json& tensor = *found;
    std::string shape;
    for (const Json& dim : tensor["shape"]) shape += (shape.empty() ? "" : "x") + dim.dump();
    const std::string where =
        tensor["constant"] == true ? fmt::format("constant in {}", Text(tensor["space"]))
        : !tensor.contains("arena")
            ? fmt::format("inside {}", Text(tensor["space"]))
            : fmt::format("{} at {}, steps {} to {}", Text(tensor["space"]),
                          tensor["offset"].dump(), tensor["first_step"].dump(),
                          tensor["last_step"].dump());
    lines.push_back(fmt::format("{} {}: {} {} {}, {} bytes, {}", verb, Text(name),
                                Text(tensor["dtype"]), shape, Text(tensor["layout"]),
                                tensor["bytes"].dump(), where));
  }
}

void AddPlace(const Json& plan, size_t index, Lines& lines) {
  const Json& op = plan["ops"][index];
  const size_t segment = op["segment"].get<size_t>();
  lines.push_back(fmt::format("{}: {}, op {} of {}", Text(op["name"]), Text(op["kind"]), index,
                              plan["ops"].size()));
  lines.push_back(fmt::format("runs on {} by {}, in segment {} of {} op(s)", Text(op["backend"]),
                              Text(op["kernel"]), segment,
                              plan["segments"][segment]["ops"].size()));
  for (const Json& worker : plan["workers"]) {
    const Json& steps = worker["steps"];
    for (size_t step = 0; step < steps.size(); ++step) {
      if (steps[step]["op"] != index) continue;
      std::string waits;
      for (const Json& wait : steps[step].value("waits", Json::array())) {
        const Json& other = plan["workers"][wait["worker"].get<size_t>()];
        const size_t before = other["steps"][wait["step"].get<size_t>()]["op"].get<size_t>();
        waits += fmt::format("{} {} on {}", waits.empty() ? ", after" : " and",
                             Text(plan["ops"][before]["name"]), Text(other["name"]));
      }
      const std::string name = Text(worker["name"]);
      lines.push_back(fmt::format("step {} of {}{}{}", step, steps.size(),
                                  name.empty() ? "" : " on " + name, waits));
    }
  }
  if (op.contains("condition")) {
    const Json& condition = op["condition"];
    lines.push_back(fmt::format("runs where {} is {}, and is passed over in other runs",
                                Text(condition["tensor"]), condition["runs_if"].dump()));
  }
  AddTensors(plan, op, "inputs", "reads", lines);
  AddTensors(plan, op, "outputs", "writes", lines);
}

void AddTime(const Json& decisions, const PredictedTime& time, Lines& lines) {
  if (!time.is_known) return;
  const double all = decisions.at("predicted").at("latency_ms").get<double>();
  lines.push_back(
      fmt::format("predicted: starts at {:.4f} ms, takes {:.4f} ms; the whole {:.4f} ms, {}",
                  time.start_ms, time.ms, all,
                  decisions.at("time").at("costs") == "measured" ? "by measured costs"
                                                                 : "by the board's figures"));
}

std::string Candidate(const Json& candidate) {
  std::string text = Text(candidate.at("backend"));
  if (!candidate.at("kernel").is_null()) text += ", " + Text(candidate.at("kernel"));
  if (!candidate.at("priority").is_null()) text += ", priority " + candidate.at("priority").dump();
  if (!candidate.at("ms").is_null())
    text += fmt::format(", {:.4f} ms", candidate.at("ms").get<double>());
  const std::string reason = Text(candidate.at("reason"));
  return text + (reason.empty() ? ": chosen" : ": " + reason);
}

void AddMapping(const Json& decisions, const std::string& name, Lines& lines) {
  bool found = false;
  for (const Json& mapped : decisions.at("mapping")) {
    if (!IsAbout(Text(mapped.at("op")), name) || found) continue;
    found = true;
    for (const Json& candidate : mapped.at("candidates")) {
      lines.push_back("candidate " + Candidate(candidate));
    }
  }
  if (!found) lines.push_back("nothing was weighed: the converter added it for its neighbours");
}

void AddSplits(const Json& decisions, const std::string& name, Lines& lines) {
  for (const Json& split : decisions.at("splits")) {
    const bool is_chain = split.contains("last_op");
    const bool is_in = IsAbout(Text(split.at("op")), name) ||
                       (is_chain && IsAbout(Text(split.at("last_op")), name));
    if (!is_in) continue;
    const std::string what =
        is_chain ? fmt::format("chain {} to {}", Text(split.at("op")), Text(split.at("last_op")))
                 : Text(split.at("op"));
    lines.push_back(fmt::format("split: {} along {} into {} parts, {} bytes before, {} after: {}",
                                what, Text(split.at("dimension")), split.at("parts").dump(),
                                split.at("bytes_before").dump(), split.at("bytes_after").dump(),
                                Text(split.at("reason"))));
  }
}

/// The names but for those of a long list, of which the first stand for all.
std::string Joined(const Json& names) {
  constexpr size_t kMostNames = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i) {
    text += (text.empty() ? "" : ", ") + Text(names[i]);
  }
  if (names.size() > kMostNames) text += fmt::format(" and {} more", names.size() - kMostNames);
  return text;
}

void AddGroups(const Json& decisions, const std::string& name, Lines& lines) {
  for (const Json& group : decisions.at("branches").at("groups")) {
    if (!Contains(group.at("ops"), name)) continue;
    lines.push_back(fmt::format("group: starts together with {}: {:.1f} us instead of {:.1f} us",
                                Joined(group.at("ops")), group.at("us").get<double>(),
                                group.at("alone_us").get<double>()));
  }
  for (const Json& refusal : decisions.at("branches").at("refusals")) {
    if (!Contains(refusal.at("ops"), name)) continue;
    lines.push_back(
        fmt::format("no group with {}: {}", Joined(refusal.at("ops")), Text(refusal.at("reason"))));
  }
}

void AddOrder(const Json& decisions, Lines& lines) {
  const Json& order = decisions.at("order");
  std::string text = fmt::format("order: {}, {} the model's own", Text(order.at("mode")),
                                 order.at("changed") == true ? "another than" : "as");
  if (order.at("exact") == true) text += ", proved to be the best";
  lines.push_back(text);
}

/// Adds what the op takes at most on a microcontroller.
void AddInstructions(const Json& op, Lines& lines) {
  if (!op.contains("instructions")) return;
  const Json& most = op["instructions"]["most"];
  if (most.is_null()) return;
  lines.push_back(fmt::format("instructions: {} at most", most.get<int64_t>()));
}

void AddPasses(const Json& decisions, const std::string& name, Lines& lines) {
  for (const Json& pass : decisions.at("passes")) {
    for (const Json& entry : pass.at("declined")) {
      if (Text(entry.at("op")) != name) continue;
      lines.push_back(
          fmt::format("pass {} left it: {}", Text(pass.at("name")), Text(entry.at("reason"))));
    }
  }
}

}  // namespace

std::vector<std::string> ReasonsOf(const Json& plan, size_t op,
                                   const std::vector<PredictedTime>& times) {
  Lines lines;
  AddPlace(plan, op, lines);
  AddInstructions(plan["ops"][op], lines);
  const Json& decisions = plan["decisions"];
  if (decisions.is_null()) {
    lines.push_back(
        "why: the plan records no decisions: it was made for firmware, or with --decisions=off");
    return lines;
  }
  const std::string name = Text(plan["ops"][op]["name"]);
  try {
    AddTime(decisions, times[op], lines);
    AddMapping(decisions, name, lines);
    AddSplits(decisions, name, lines);
    AddGroups(decisions, name, lines);
    AddOrder(decisions, lines);
    AddPasses(decisions, name, lines);
  } catch (const Json::exception&) {
    FailDecisions();
  }
  return lines;
}

}  // namespace tenon::tool
