// What `tenon convert` asks the converter for: the options read, and recorded for the plan.
#include <algorithm>

#include "sdk/tools/convert_options.hpp"
#include "sdk/tools/npy.hpp"

namespace tenon::tool {
namespace {

std::vector<int64_t> ParseShape(const std::string& name, const std::string& text) {
  std::vector<int64_t> shape;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t cross = std::min(text.find('x', at), text.size());
    const std::string dim = text.substr(at, cross - at);
    if (dim.empty() || dim.find_first_not_of("0123456789") != std::string::npos) {
      Fail(kUsage, "--shape {}={}: give sizes with an x between them, as 1x3x224x224", name, text);
    }
    if (dim.size() > 9) Fail(kUsage, "--shape {}={}: {} is too large a size", name, text, dim);
    shape.push_back(std::stoll(dim));
    at = cross + 1;
  }
  return shape;
}

ConvertRequest::Constant ReadFrozen(const std::string& file) {
  NpyArray array = ReadNpy(file);
  if (array.shape.size() > TENON_MAX_RANK) {
    Fail(kInputRefused, "'{}' has rank {}: {} at most", file, array.shape.size(), TENON_MAX_RANK);
  }
  return {tenon_dtype_name(array.dtype), std::move(array.shape), std::move(array.bytes)};
}

ConvertRequest::Order OrderOf(const std::string& name) {
  if (name == "source") return ConvertRequest::Order::kSource;
  if (name == "random") return ConvertRequest::Order::kRandom;
  return ConvertRequest::Order::kSearch;
}

ConvertRequest::Objective ObjectiveOf(const std::string& name) {
  if (name == "memory") return ConvertRequest::Objective::kMemory;
  if (name == "throughput") return ConvertRequest::Objective::kThroughput;
  return ConvertRequest::Objective::kLatency;
}

/// "auto", which is 0, or a number of buffers.
int32_t ChannelDepth(const std::string& text) {
  if (text == "auto") return 0;
  constexpr size_t kMostDigits = 3;
  const bool is_number = !text.empty() && text.size() <= kMostDigits &&
                         text.find_first_not_of("0123456789") == std::string::npos &&
                         std::stoi(text) > 0;
  if (!is_number) Fail(kUsage, "--channels wants 'auto' or a number of buffers, not '{}'", text);
  return std::stoi(text);
}

/// Keeps what was asked for, in the order in which the plan's text shows it.
class Recorder {
 public:
  explicit Recorder(ConvertRequest& request) : request_(request) {}

  void operator()(const char* name, std::string value) const {
    request_.recorded.emplace_back(name, std::move(value));
  }
  void All(const char* name, const std::vector<std::string>& values) const {
    for (const std::string& value : values) (*this)(name, value);
  }

 private:
  ConvertRequest& request_;
};

void ApplyMappingOptions(const ConvertCommand& options, ConvertRequest& request) {
  request.mapping.optimal = options.mapping == "optimal";
  request.mapping.table_in_pipelines = options.mapping == "table";
  request.mapping.aggregate = options.aggregate == "on";
  request.parallel.fuse_branches = options.fuse_branches == "auto";
  request.parallel.channel_depth = ChannelDepth(options.channels);
  request.parallel.balance = options.balance == "auto";
  const Recorder record(request);
  record.All("map", request.mapping.pins);
  record("mapping", options.mapping);
  record("fallback", request.mapping.fallback ? "on" : "off");
  record("aggregate", options.aggregate);
  record("fuse-branches", options.fuse_branches);
  record("parallel", request.parallel.mode);
  record("threads", std::to_string(request.parallel.threads));
  if (request.parallel.rows_per_call > 0) {
    record("rows_per_call", std::to_string(request.parallel.rows_per_call));
  }
  record("channels", options.channels);
  record("balance", options.balance);
}

void ReadLimits(const ConvertCommand& options, ConvertRequest& request) {
  for (const std::string& argument : options.memory_limits) {
    const auto [space, bytes] = SplitAssignment(argument, "--memory-limit");
    if (!request.memory_limits.emplace(space, ParseBytes(bytes, "--memory-limit")).second) {
      Fail(kUsage, "--memory-limit {} is given twice", space);
    }
  }
  const Recorder record(request);
  record.All("memory-limit", options.memory_limits);
  if (options.max_memory.empty()) return;  // not recorded: it changes no plan
  request.max_memory = ParseBytes(options.max_memory, "--max-memory");
  if (request.max_memory == 0) Fail(kUsage, "--max-memory wants 1 byte or more");
}

void ReadShapes(const ConvertCommand& options, ConvertRequest& request) {
  const Recorder record(request);
  if (request.batch != 0) record("batch", std::to_string(request.batch));
  for (const std::string& argument : options.shapes) {
    const auto [name, shape] = SplitLastAssignment(argument, "--shape");
    if (!request.shapes.emplace(name, ParseShape(name, shape)).second) {
      Fail(kUsage, "--shape {} is given twice", name);
    }
  }
  record.All("shape", options.shapes);
  for (const std::string& argument : options.freeze) {
    const auto [name, file] = SplitFileAssignment(argument, "--freeze");
    if (!request.freeze.emplace(name, ReadFrozen(file)).second) {
      Fail(kUsage, "--freeze {} is given twice", name);
    }
    // The file's path would make equal plans differ from machine to machine.
    record("freeze", name);
  }
  for (const std::string& argument : options.states) {
    request.states.push_back(SplitAssignment(argument, "--state"));
  }
  record.All("state", options.states);
}

void ReadPorts(const ConvertCommand& options, ConvertRequest& request) {
  const Recorder record(request);
  for (const std::string& argument : options.input_formats) {
    request.input_formats.push_back(SplitAssignment(argument, "--input-format"));
  }
  record.All("input-format", options.input_formats);
  for (const std::string& argument : options.output_formats) {
    request.output_formats.push_back(SplitAssignment(argument, "--output-format"));
  }
  record.All("output-format", options.output_formats);
  for (const std::string& argument : options.input_from) {
    request.input_from.push_back(SplitLastAssignment(argument, "--input-from"));
  }
  record.All("input-from", options.input_from);
  if (request.align_corners != ConvertRequest{}.align_corners) {
    record("align-corners", request.align_corners);
  }
  record("weights", request.weights);
}

void ReadMethods(const ConvertCommand& options, ConvertRequest& request) {
  request.order = OrderOf(options.order);
  request.order_budget = options.order_budget;
  request.key_nodes = options.key_nodes == "on";
  request.split = options.split == "auto";
  request.memory_program = options.memory_program != "off";
  request.force_memory_program = options.memory_program == "force";
  request.objective = ObjectiveOf(options.objective);
}

void RecordMethods(const ConvertCommand& options, ConvertRequest& request) {
  const Recorder record(request);
  record("order", options.order);
  if (options.order == "measured") {
    // Not the command itself: it names machines and people.
    record("target", options.target.command.empty() ? "here" : "command");
    record("measure-orders", std::to_string(request.measured.orders));
  }
  record("order-budget", std::to_string(options.order_budget));
  record("key-nodes", options.key_nodes);
  // Only where it is not the default: plans made before it was an option stay the same.
  if (request.subgraph_ops != ConvertRequest{}.subgraph_ops) {
    record("subgraph-ops", std::to_string(request.subgraph_ops));
  }
  if (request.order_target_ms > 0) {
    record("order-target", fmt::format("{}", request.order_target_ms));
  }
  // As for frozen inputs: that there was one, not where.
  if (!request.profile.empty()) record("profile", "given");
  record("split", options.split);
  if (options.memory_program != "auto") record("memory-program", options.memory_program);
  if (request.relax_limit) record("relax-limit", "yes");
  if (request.time_limit_seconds > 0) {
    record("time-limit", fmt::format("{}", request.time_limit_seconds));
  }
  record("objective", options.objective);
  if (request.most_slowdown > 0) {
    record("most-slowdown", fmt::format("{}", request.most_slowdown));
  }
  record("seed", std::to_string(request.seed));
}

}  // namespace

ConvertRequest ToRequest(const ConvertCommand& options) {
  ConvertRequest request = options.request;
  ReadLimits(options, request);
  ReadShapes(options, request);
  request.fuse = options.fuse == "on";
  const Recorder record(request);
  record("fuse", options.fuse);
  ReadPorts(options, request);
  ReadMethods(options, request);
  ApplyMappingOptions(options, request);
  ApplyQuantizeOptions(options.quantize, request);
  RecordMethods(options, request);
  return request;
}

}  // namespace tenon::tool
