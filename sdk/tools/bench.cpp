// tenon bench: how fast a plan runs here, and how much memory it takes.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "sdk/tools/atomic_file.hpp"
#include "sdk/tools/plan_runner.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct BenchOptions {
  std::string plan;
  int iterations = 100;
  int warmup = 10;
  int threads = 0;
  std::string json;
  bool per_op = false;
  bool portable = false;
};

uint64_t Nanoseconds() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
          .count());
}

/// Numbers of ordinary size: zeros or denormals would time something else.
std::vector<std::byte> RandomInput(const tenon_port_info& port) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(port.bytes);
  if (port.dtype == TENON_F32) {
    std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      const float value = uniform(random);
      std::memcpy(bytes.data() + i, &value, 4);
    }
  } else if (port.dtype == TENON_I8 || port.dtype == TENON_U8) {
    for (std::byte& value : bytes) value = static_cast<std::byte>(random() & 127U);
  }
  return bytes;
}

struct Measurement {
  std::vector<double> latencies_ms;      ///< sorted
  std::vector<double> op_ms;             ///< per op, mean over the traced runs
  std::map<std::string, size_t> memory;  ///< peak writable bytes by memory space

  [[nodiscard]] double Quantile(double q) const {
    const auto last = static_cast<double>(latencies_ms.size() - 1);
    return latencies_ms[static_cast<size_t>(q * last + 0.5)];
  }
};

void TraceOps(Session& session, size_t ops, int runs, Measurement& result) {
  std::vector<uint64_t> total(ops, 0);
  tenon_trace trace{};
  trace.context = &total;
  trace.record = [](void* context, size_t op, uint64_t nanoseconds) {
    (*static_cast<std::vector<uint64_t>*>(context))[op] += nanoseconds;
  };
  trace.clock_nanoseconds = [](void*) { return Nanoseconds(); };
  for (int i = 0; i < runs; ++i) {
    if (const auto error = session.RunTraced(trace)) FailWith(*error, "bench");
  }
  for (const uint64_t nanoseconds : total) {
    result.op_ms.push_back(static_cast<double>(nanoseconds) / 1e6 / runs);
  }
}

Measurement Measure(const Plan& plan, const BenchOptions& options) {
  Session session = OpenSession(plan);
  std::vector<std::vector<std::byte>> inputs;
  Measurement result;
  for (size_t i = 0; i < plan.ArenaCount(); ++i) {
    result.memory[plan.Arena(i).space] += plan.Arena(i).bytes;
  }
  size_t beside = plan.StateBytes() + plan.PackedBytes() + tenon_session_state_size(plan.handle()) +
                  session.PackedBytes();
  for (size_t i = 0; i < plan.InputCount(); ++i) {
    inputs.push_back(RandomInput(plan.Input(i)));
    beside += inputs[i].size();
    if (const auto error = session.BindInput(i, inputs[i].data(), inputs[i].size())) {
      FailWith(*error, "bench");
    }
  }
  const std::string heap_space = plan.ArenaCount() > 0 ? plan.Arena(0).space : "ram";
  result.memory[heap_space] += beside;

  const auto run = [&] {
    if (const auto error = session.Run()) FailWith(*error, "bench");
  };
  for (int i = 0; i < options.warmup; ++i) run();
  for (int i = 0; i < options.iterations; ++i) {
    const uint64_t start = Nanoseconds();
    run();
    result.latencies_ms.push_back(static_cast<double>(Nanoseconds() - start) / 1e6);
  }
  std::sort(result.latencies_ms.begin(), result.latencies_ms.end());
  if (options.per_op || !options.json.empty()) {
    TraceOps(session, plan.OpCount(), std::max(1, options.iterations / 2), result);
  }
  return result;
}

Json ToJson(const Plan& plan, const Measurement& result, const BenchOptions& options, int threads) {
  Json json;
  json["latency_ms"] = {{"min", result.latencies_ms.front()},
                        {"median", result.Quantile(0.5)},
                        {"p99", result.Quantile(0.99)}};
  json["throughput_per_s"] = 1e3 / result.Quantile(0.5);
  json["memory_bytes"] = result.memory;
  json["ops"] = Json::array();
  for (size_t i = 0; i < result.op_ms.size(); ++i) {
    const tenon_op_info op = plan.Op(i);
    json["ops"].push_back({{"name", op.name},
                           {"kind", op.kind},
                           {"backend", op.backend},
                           {"kernel", op.kernel},
                           {"ms", result.op_ms[i]}});
    if (op.worker[0] != '\0') json["ops"].back()["worker"] = op.worker;
  }
  json["settings"] = {{"plan", options.plan},        {"iterations", options.iterations},
                      {"warmup", options.warmup},    {"threads", threads},
                      {"mode", "sequential"},        {"replicas", 1},
                      {"portable", options.portable}};
  return json;
}

void PrintOps(const Plan& plan, const Measurement& result) {
  double total = 0;
  for (const double ms : result.op_ms) total += ms;
  std::cout << fmt::format("{:>9} {:>6}  {:<10} {:<28} {}\n", "ms", "%", "kind", "kernel", "op");
  for (size_t i = 0; i < result.op_ms.size(); ++i) {
    const tenon_op_info op = plan.Op(i);
    const std::string worker = op.worker[0] == '\0' ? "" : fmt::format(" on {}", op.worker);
    std::cout << fmt::format("{:9.4f} {:6.2f}  {:<10} {:<28} {}{}\n", result.op_ms[i],
                             100 * result.op_ms[i] / total, op.kind, op.kernel, op.name, worker);
  }
}

void Bench(const BenchOptions& options) {
  const int threads = options.threads > 0 ? options.threads : AvailableProcessors();
  const Plan plan = OpenPlan(options.plan, threads, options.portable);
  const Measurement result = Measure(plan, options);
  std::cout << fmt::format(
      "latency ms: min {:.4f}  median {:.4f}  p99 {:.4f}   throughput: {:.1f}/s   ({} runs, {} "
      "thread{})\n",
      result.latencies_ms.front(), result.Quantile(0.5), result.Quantile(0.99),
      1e3 / result.Quantile(0.5), options.iterations, threads, threads == 1 ? "" : "s");
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
  if (options.per_op) PrintOps(plan, result);
  if (!options.json.empty()) {
    WriteFile(options.json, ToJson(plan, result, options, threads).dump(2) + "\n");
  }
}

}  // namespace

void AddBench(CLI::App& app) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Measures latency, throughput and memory on this machine.");
  command->add_option("PLAN", options->plan, "Plan file (.tenon)")->required();
  command->add_option("--iterations", options->iterations, "Timed runs")
      ->capture_default_str()
      ->check(AtLeast(1));
  command->add_option("--warmup", options->warmup, "Runs before those")
      ->capture_default_str()
      ->check(AtLeast(0));
  command->add_option("--threads", options->threads, "Threads; 0: one per processor")
      ->capture_default_str()
      ->check(AtLeast(0));
  command->add_option("--json", options->json, "Write the figures there");
  command->add_flag("--per-op", options->per_op, "Print the time of each op");
  command->add_flag("--portable", options->portable, "Use the portable kernels only");
  command->callback([options] { Bench(*options); });
}

}  // namespace tenon::tool
