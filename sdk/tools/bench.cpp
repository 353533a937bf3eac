// tenon bench measures how fast a plan runs here and how much memory it takes.
#include "sdk/tools/bench.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "converter/json_text.hpp"
#include "sdk/tools/backend_files.hpp"
#include "sdk/tools/files.hpp"
#include "sdk/tools/json.hpp"
#include "sdk/tools/plan_runner.hpp"
#include "sdk/tools/tool.hpp"
#include "sdk/tools/trace_recorder.hpp"

namespace tenon::tool {

std::string HeapSpace(const Plan& plan) {
  return plan.ArenaCount() > 0 ? plan.Arena(0).space : "ram";
}

namespace {

/// Runs that a trace shows: enough to see what repeats, few enough for a viewer.
constexpr int kTracedRuns = 10;

void BindInputs(std::vector<NpyArray>& inputs, Session& session) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (const auto error = session.BindInput(i, inputs[i].bytes.data(), inputs[i].bytes.size())) {
      FailWith(*error, "bench");
    }
  }
}

/// Runs of their own, so that nothing that is measured carries the cost of recording.
void WriteTrace(const Plan& plan, const BenchOptions& options) {
  if (options.trace.empty()) return;
  TraceRecorder recorder(plan);
  if (options.mode == "sequential") {
    Session session = OpenSession(plan, options.device_timeout);
    std::vector<NpyArray> inputs = ReadInputs(plan, options.inputs, Missing::kRandom);
    BindInputs(inputs, session);
    const tenon_trace trace = recorder.hooks();
    for (int i = 0; i < std::min(options.iterations, kTracedRuns); ++i) {
      if (const auto error = session.RunTraced(trace)) FailWith(*error, "bench");
    }
  } else {
    BenchOptions few = options;
    few.iterations = std::min(options.iterations, kTracedRuns * options.replicas);
    TraceStream(plan, few, recorder);
  }
  WriteFile(options.trace, recorder.Json());
}

Measurement Measure(const Plan& plan, const BenchOptions& options) {
  Session session = OpenSession(plan, options.device_timeout);
  std::vector<NpyArray> inputs = ReadInputs(plan, options.inputs, Missing::kRandom);
  Measurement result;
  for (size_t i = 0; i < plan.ArenaCount(); ++i) {
    result.memory[plan.Arena(i).space] += plan.Arena(i).bytes;
  }
  size_t beside = plan.StateBytes() + plan.PackedBytes() + tenon_session_state_size(plan.handle()) +
                  session.PackedBytes();
  for (const NpyArray& input : inputs) beside += input.bytes.size();
  BindInputs(inputs, session);
  result.memory[HeapSpace(plan)] += beside;

  const auto run = [&] {
    if (const auto error = session.Run()) FailWith(*error, "bench");
  };
  for (int i = 0; i < options.warmup; ++i) run();
  for (int i = 0; i < options.iterations; ++i) {
    const uint64_t start = MonotonicNanoseconds();
    run();
    result.latencies_ms.push_back(static_cast<double>(MonotonicNanoseconds() - start) / 1e6);
  }
  std::sort(result.latencies_ms.begin(), result.latencies_ms.end());
  result.throughput = 1e3 / result.Quantile(0.5);
  TraceOps(plan, session, options, result);
  return result;
}

Measurement MeasureMode(const Plan& plan, const BenchOptions& options) {
  if (options.mode == "sequential") return Measure(plan, options);
  Measurement result = MeasureStream(plan, options);
  Session session = OpenSession(
      plan, options.device_timeout);  // not counted: it is there for the ops' times alone
  std::vector<NpyArray> inputs = ReadInputs(plan, options.inputs, Missing::kRandom);
  BindInputs(inputs, session);
  TraceOps(plan, session, options, result);
  return result;
}

/// The program that a mode runs; empty: the first.
std::string ProgramOf(const std::string& mode) {
  return mode == "pipeline" || mode == "inter" ? mode : "";
}

/// The program of the mode, with what the mode leaves of the threads to share each op. One is open
/// at a time: each packs weights of its own.
Plan OpenForMode(const BenchOptions& options, int* kernel_threads) {
  const std::string program = ProgramOf(options.mode);
  size_t beside = static_cast<size_t>(std::max(1, options.replicas));
  if (!program.empty()) {
    Plan plan = OpenPlan(options.plan, 1, options.portable, program);
    beside *= std::max<size_t>(1, plan.LoadedProgram().workers);
    if (options.threads < 2 * static_cast<int>(beside)) {
      *kernel_threads = 1;
      return plan;
    }
  }
  *kernel_threads = std::max(1, options.threads / static_cast<int>(beside));
  return OpenPlan(options.plan, *kernel_threads, options.portable, program);
}

Json StreamToJson(const Measurement& result) {
  Json json;
  for (const StageTimes& stage : result.stages) {
    json["stages"].push_back({{"name", stage.name},
                              {"busy_ms", stage.busy_ms},
                              {"starved_ms", stage.starved_ms},
                              {"blocked_ms", stage.blocked_ms}});
  }
  for (const ChannelStalls& channel : result.channels) {
    json["channels"].push_back({{"from", channel.from},
                                {"to", channel.to},
                                {"depth", channel.depth},
                                {"stalls", channel.stalls},
                                {"stalled_ms", channel.stalled_ms}});
  }
  if (!result.stages.empty()) json["bound_per_s"] = result.Bound();
  return json;
}

Json ToJson(const Plan& plan, const Measurement& result, const BenchOptions& options,
            int kernel_threads) {
  Json json;
  json["latency_ms"] = {{"min", result.latencies_ms.front()},
                        {"median", result.Quantile(0.5)},
                        {"p99", result.Quantile(0.99)}};
  json["throughput_per_s"] = result.throughput;
  json["memory_bytes"] = result.memory;
  json["ops"] = Json::array();
  for (size_t i = 0; i < result.op_ms.size(); ++i) {
    const tenon_op_info op = plan.Op(i);
    const std::optional<double>& predicted = result.predicted_ms[i];
    json["ops"].push_back({{"name", op.name},
                           {"kind", op.kind},
                           {"backend", op.backend},
                           {"kernel", op.kernel},
                           {"ms", result.op_ms[i]},
                           {"predicted_ms", predicted ? Json(*predicted) : Json(nullptr)}});
    if (op.worker[0] != '\0') json["ops"].back()["worker"] = op.worker;
  }
  json["ops_whole_ms"] = result.traced_ms;
  json["between_ops_ms"] = result.BetweenOps();
  if (!result.stages.empty()) json.update(StreamToJson(result));
  json["settings"] = {{"plan", options.plan},
                      {"iterations", options.iterations},
                      {"warmup", options.warmup},
                      {"threads", options.threads},
                      {"mode", options.mode},
                      {"replicas", options.replicas},
                      {"stream_threads", result.stream_threads},
                      {"kernel_threads", kernel_threads},
                      {"portable", options.portable}};
  return json;
}

void PrintStages(const Measurement& result) {
  for (const StageTimes& stage : result.stages) {
    std::cout << fmt::format(
        "stage {:<12} ms per input: busy {:.4f}  starved {:.4f}  blocked {:.4f}\n", stage.name,
        stage.busy_ms, stage.starved_ms, stage.blocked_ms);
  }
  for (const ChannelStalls& channel : result.channels) {
    std::cout << fmt::format("channel {} -> {} of {} slots: full {} times, {:.4f} ms in all\n",
                             channel.from, channel.to, channel.depth, channel.stalls,
                             channel.stalled_ms);
  }
  if (!result.stages.empty()) {
    std::cout << fmt::format("bound by the slowest stage: {:.1f}/s, reached: {:.3f} of it\n",
                             result.Bound(), result.throughput / result.Bound());
  }
}

/// Measures in the mode of the options and prints what it found; the same as JSON.
Json BenchMode(BenchOptions options, bool is_only) {
  if (options.replicas == 0) options.replicas = options.mode == "replicas" ? options.threads : 1;
  if (options.mode == "sequential" && !is_only) options.replicas = 1;
  int kernel_threads = 1;
  const Plan plan = OpenForMode(options, &kernel_threads);
  const Measurement result = MeasureMode(plan, options);
  WriteTrace(plan, options);
  std::string mode = is_only ? "" : ", sequential";
  if (options.mode != "sequential") {
    mode = fmt::format(", {} with {} replica{}", options.mode, options.replicas,
                       options.replicas == 1 ? "" : "s");
  }
  std::cout << fmt::format(
      "latency ms: min {:.4f}  median {:.4f}  p99 {:.4f}   throughput: {:.1f}/s   ({} runs, {} "
      "thread{}{})\n",
      result.latencies_ms.front(), result.Quantile(0.5), result.Quantile(0.99), result.throughput,
      options.iterations, options.threads, options.threads == 1 ? "" : "s", mode);
  PrintStages(result);
  for (const auto& [space, bytes] : result.memory) {
    std::cout << fmt::format("memory {}: {} bytes (arenas, inputs, states, packed weights)\n",
                             space, bytes);
  }
  size_t replaced = 0;
  for (size_t i = 0; i < plan.OpCount(); ++i) {
    replaced += std::string_view(plan.Op(i).kernel) != plan.Op(i).planned_kernel ? 1 : 0;
  }
  if (replaced > 0) {
    std::cout << fmt::format("{} op(s) run on another kernel than planned: see --per-op\n",
                             replaced);
  }
  if (options.per_op) std::cout << OpTable(plan, result);
  return ToJson(plan, result, options, kernel_threads);
}

void Bench(BenchOptions options) {
  if (options.threads == 0) options.threads = AvailableProcessors();
  const bool is_only = options.modes.size() == 1;
  if (!is_only && !options.trace.empty()) Fail(kUsage, "--trace shows one mode: name only one");
  if (is_only && options.modes[0] == "sequential" && options.replicas > 1) {
    Fail(kUsage, "--replicas {} needs a mode of several: replicas, pipeline or inter",
         options.replicas);
  }
  // A mode that the plan has no program for is said before others are measured.
  for (const std::string& mode : options.modes) {
    if (is_only || ProgramOf(mode).empty()) continue;
    static_cast<void>(OpenPlan(options.plan, 1, options.portable, ProgramOf(mode)));
  }
  Json results = Json::array();
  for (const std::string& mode : options.modes) {
    options.mode = mode;
    results.push_back(BenchMode(options, is_only));
  }
  if (options.json.empty()) return;
  const Json json = is_only ? results[0] : Json{{"modes", results}};
  WriteFile(options.json, JsonText(json) + "\n");
}

}  // namespace

void AddBench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Measures latency, throughput and memory on this machine.");
  command->add_option("PLAN", options->plan, "Plan file (.tenon)")->required();
  command
      ->add_option(
          "--input", options->inputs,
          "NAME=FILE.npy, or FILE.npy for an only input; others hold random numbers, which "
          "decide for some models what a run computes")
      ->allow_extra_args(false);
  command->add_option("--iterations", options->iterations, "Timed runs")
      ->capture_default_str()
      ->check(AtLeast(1));
  command->add_option("--warmup", options->warmup, "Runs before those")
      ->capture_default_str()
      ->check(AtLeast(0));
  command
      ->add_option("--threads", options->threads,
                   "Threads in all, shared out by the mode; 0: one per processor")
      ->capture_default_str()
      ->check(AtLeast(0));
  command
      ->add_option(
          "--mode", options->modes,
          "One input at a time (sequential), or a stream of them: pipeline and inter where "
          "the plan has such a program, replicas of any; several, with commas between, are "
          "measured one after the other")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str()
      ->check(CLI::IsMember({"sequential", "pipeline", "replicas", "inter"}));
  command
      ->add_option("--replicas", options->replicas,
                   "Copies that run at once, with arenas of their own; 0: one per thread in mode "
                   "replicas, else 1")
      ->capture_default_str()
      ->check(AtLeast(0));
  AddDeviceTimeout(*command, options->device_timeout);
  command->add_option("--json", options->json, "Write the figures there");
  command->add_option("--trace", options->trace,
                      "Write there when each op ran in some further runs, for ui.perfetto.dev or "
                      "chrome://tracing");
  command->add_flag("--per-op", options->per_op,
                    "Print the median time of each op, longest first, beside the predicted one");
  command->add_flag("--portable", options->portable, "Use the portable kernels only");
  AddBackendOption(*command);
  command->callback([options] { Bench(*options); });
}

}  // namespace tenon::tool
