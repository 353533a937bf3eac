#include "sdk/tools/convert_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "sdk/tools/converter_error.hpp"
#include "sdk/tools/npy.hpp"

namespace tenon::tool {
namespace {

std::vector<int64_t> ParseShape(const std::string& text) {
  std::vector<int64_t> shape;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t cross = std::min(text.find('x', at), text.size());
    const std::string dim = text.substr(at, cross - at);
    if (dim.empty() || dim.size() > 9 || dim.find_first_not_of("0123456789") != std::string::npos) {
      Fail(kUsage, "--shape wants NAME=1x3x224x224, not '...={}'", text);
    }
    shape.push_back(std::stoll(dim));
    at = cross + 1;
  }
  return shape;
}

converter::ImportOptions::Frozen ReadFrozen(const std::string& file) {
  NpyArray array = ReadNpy(file);
  if (array.shape.size() > TENON_MAX_RANK) {
    Fail(kInputRefused, "'{}' has rank {}: {} at most", file, array.shape.size(), TENON_MAX_RANK);
  }
  converter::ImportOptions::Frozen frozen;
  frozen.dtype = static_cast<DType>(array.dtype);
  frozen.shape.rank = static_cast<int32_t>(array.shape.size());
  for (size_t i = 0; i < array.shape.size(); ++i) {
    frozen.shape[static_cast<int32_t>(i)] = static_cast<int32_t>(array.shape[i]);
  }
  frozen.bytes = std::move(array.bytes);
  return frozen;
}

/// A measured priority table stands in for the board's rows of the ops that it ranks.
void UsePriorities(const std::vector<converter::Priority>& measured, converter::Board& board) {
  const auto is_ranked = [&](const converter::Priority& row) {
    return std::any_of(measured.begin(), measured.end(),
                       [&](const converter::Priority& better) { return better.op == row.op; });
  };
  std::vector<converter::Priority>& rows = board.priorities;
  rows.erase(std::remove_if(rows.begin(), rows.end(), is_ranked), rows.end());
  rows.insert(rows.end(), measured.begin(), measured.end());
}

void UseProfile(const std::string& file, converter::ConvertOptions& convert) {
  converter::Result<converter::Profile> profile = converter::LoadProfile(file);
  if (!profile.ok()) FailWith(profile.error());
  if (converter::Status status = converter::CheckProfileFits(*profile, convert.board);
      !status.ok()) {
    FailWith(status.error());
  }
  UsePriorities(profile->priorities, convert.board);
  convert.profile = std::make_shared<const converter::Profile>(std::move(*profile));
}

converter::OrderMode OrderModeOf(const std::string& name) {
  if (name == "source") return converter::OrderMode::kSource;
  if (name == "random") return converter::OrderMode::kRandom;
  return converter::OrderMode::kSearch;
}

converter::WeightsForm WeightsFormOf(const std::string& name) {
  using converter::WeightsForm;
  for (const WeightsForm form : {WeightsForm::kF32, WeightsForm::kF16, WeightsForm::kInt8}) {
    if (name == converter::Name(form)) return form;
  }
  return WeightsForm::kModel;
}

converter::Objective ObjectiveOf(const std::string& name) {
  if (name == "memory") return converter::Objective::kMemory;
  if (name == "throughput") return converter::Objective::kThroughput;
  return converter::Objective::kLatency;
}

/// Takes the option's value, and notes that it is of use with measured orders only.
template <typename T>
CLI::Option* AddMeasureOption(CLI::App& command, ConvertCommand& options, const std::string& name,
                              T& value, const std::string& description) {
  return command.add_option(name, value, description)
      ->each([&options, name](const std::string&) { options.only_measured = name; })
      ->group("Methods");
}

void AddMeasureOptions(CLI::App& command, ConvertCommand& options) {
  const CLI::Validator not_empty(
      [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); }, "");
  AddMeasureOption(command, options, "--target", options.measure.target.command,
                   "COMMAND that runs 'tenon' on the target, for --order=measured: a shell adds "
                   "'bench PLAN --json /dev/stdout ...' to it; without, this machine is measured")
      ->check(not_empty);
  AddMeasureOption(command, options, "--target-timeout", options.measure.target.timeout_seconds,
                   "Seconds after which a run of the target's command is ended")
      ->check(Between(0.001, 1e6))
      ->capture_default_str();
  AddMeasureOption(command, options, "--measure-orders", options.measure.orders,
                   "Orders to measure: the search's, the model's own, the rest at random")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

}  // namespace

converter::ConvertOptions ToConvertOptions(const ConvertCommand& options) {
  const bool measured = options.order == "measured";
  if (!measured && !options.only_measured.empty()) {
    Fail(kUsage, "{} needs --order=measured", options.only_measured);
  }
  converter::ConvertOptions convert;
  convert.model = options.model;
  converter::Result<converter::Board> board = converter::LoadBoard(options.board);
  if (!board.ok()) FailWith(board.error());
  convert.board = std::move(*board);
  for (const std::string& argument : options.memory_limits) {
    const auto [space, bytes] = SplitAssignment(argument, "--memory-limit");
    converter::MemorySpace* found = convert.board.FindSpace(space);
    if (found == nullptr) {
      Fail(kUsage, "board '{}' has no memory space '{}'", convert.board.name, space);
    }
    found->bytes = ParseBytes(bytes, "--memory-limit");
    found->reserve_bytes = 0;
    convert.recorded.emplace_back("memory-limit", argument);
  }
  convert.import.batch = options.batch;
  if (options.batch != 0) convert.recorded.emplace_back("batch", std::to_string(options.batch));
  for (const std::string& argument : options.shapes) {
    const auto [name, shape] = SplitAssignment(argument, "--shape");
    if (!convert.import.shapes.emplace(name, ParseShape(shape)).second) {
      Fail(kUsage, "--shape {} is given twice", name);
    }
    convert.recorded.emplace_back("shape", argument);
  }
  for (const std::string& argument : options.freeze) {
    const auto [name, file] = SplitAssignment(argument, "--freeze");
    if (!convert.import.freeze.emplace(name, ReadFrozen(file)).second) {
      Fail(kUsage, "--freeze {} is given twice", name);
    }
    // The file's path would make equal plans differ from machine to machine.
    convert.recorded.emplace_back("freeze", name);
  }
  convert.fuse = options.fuse == "on";
  convert.recorded.emplace_back("fuse", options.fuse);
  for (const std::string& argument : options.input_formats) {
    const auto [name, text] = SplitAssignment(argument, "--input-format");
    converter::Result<converter::InputFormat> format = converter::ParseInputFormat(name, text);
    if (!format.ok()) FailWith(format.error());
    convert.input_formats.push_back(std::move(*format));
    convert.recorded.emplace_back("input-format", argument);
  }
  convert.weights = WeightsFormOf(options.weights);
  convert.recorded.emplace_back("weights", options.weights);
  convert.order = OrderModeOf(options.order);
  convert.order_budget = options.order_budget;
  convert.key_nodes = options.key_nodes == "on";
  convert.order_target_ms = options.order_target_ms;
  convert.split = options.split == "auto";
  convert.objective = ObjectiveOf(options.objective);
  convert.most_slowdown = options.most_slowdown;
  if (options.most_slowdown > 0 && options.objective != "memory") {
    Fail(kUsage, "--most-slowdown is for --objective=memory");
  }
  ApplyMappingOptions(options.mapping, convert);
  ApplyQuantizeOptions(options.quantize, convert);
  if (!options.profile.empty()) UseProfile(options.profile, convert);
  convert.seed = options.seed;
  convert.recorded.emplace_back("order", options.order);
  if (measured) {
    // Not the command itself: it names machines and people.
    convert.recorded.emplace_back("target",
                                  options.measure.target.command.empty() ? "here" : "command");
    convert.recorded.emplace_back("measure-orders", std::to_string(options.measure.orders));
  }
  convert.recorded.emplace_back("order-budget", std::to_string(options.order_budget));
  convert.recorded.emplace_back("key-nodes", options.key_nodes);
  if (options.order_target_ms > 0) {
    convert.recorded.emplace_back("order-target", fmt::format("{}", options.order_target_ms));
  }
  // As for frozen inputs: that there was one, not where.
  if (!options.profile.empty()) convert.recorded.emplace_back("profile", "given");
  convert.recorded.emplace_back("split", options.split);
  convert.recorded.emplace_back("objective", options.objective);
  if (options.most_slowdown > 0) {
    convert.recorded.emplace_back("most-slowdown", fmt::format("{}", options.most_slowdown));
  }
  convert.recorded.emplace_back("seed", std::to_string(options.seed));
  return convert;
}

MeasureOptions ToMeasureOptions(const ConvertCommand& options, const converter::Board& board) {
  MeasureOptions measure = options.measure;
  if (const converter::Unit* unit = converter::ComputeUnit(board)) {
    measure.target.threads = std::max(1, static_cast<int>(unit->threads));
  }
  return measure;
}

void AddConvertOptions(CLI::App& command, ConvertCommand& options) {
  command.add_option("MODEL", options.model, "Model file (.onnx, .tflite)")->required();
  command
      .add_option(
          "-o", options.plan,
          "File to write: the plan (.tenon), or with --emit=c its source (.c or .S) with the "
          "header beside it (.h)")
      ->required();
  command.add_option("--board", options.board, "A board's name (see 'tenon boards') or file")
      ->required();

  command
      .add_option(
          "--emit", options.emit,
          "A plan file, or C for firmware: the plan as an array, the table of the kernels "
          "that it needs, sizes; with -o NAME.S the plan beside it (NAME.tenon), included by "
          "the assembler")
      ->check(CLI::IsMember({"plan", "c"}))
      ->capture_default_str();

  command.add_option("--batch", options.batch, "Value of a free first dimension of the inputs")
      ->check(AtLeast(1))
      ->group("Shapes");
  command.add_option("--shape", options.shapes, "NAME=1x3x224x224: shape of an input")
      ->allow_extra_args(false)
      ->group("Shapes");
  command.add_option("--freeze", options.freeze, "NAME=FILE.npy: makes an input a constant")
      ->allow_extra_args(false)
      ->group("Shapes");
  command
      .add_option("--memory-limit", options.memory_limits,
                  "SPACE=BYTES (K, M, G): hard limit, instead of the board's")
      ->allow_extra_args(false)
      ->group("Memory");
  command
      .add_option("--split", options.split,
                  "Split ops and chains of ops that do not fit the board's memory, or refuse them")
      ->check(CLI::IsMember({"auto", "off"}))
      ->capture_default_str()
      ->group("Memory");
  command
      .add_option("--objective", options.objective,
                  "Least predicted time of one inference, most inferences a second for a stream of "
                  "inputs, or the smallest arena at the price of time")
      ->check(CLI::IsMember({"latency", "throughput", "memory"}))
      ->capture_default_str()
      ->group("Methods");
  command
      .add_option("--most-slowdown", options.most_slowdown,
                  "With --objective=memory: the smallest arena at no more than so many times the "
                  "predicted time of the model unsplit (1.3, say)")
      ->check(CLI::Range(1.0, 1000.0))
      ->group("Methods");
  command.add_option("--profile", options.profile, "Measured costs, by 'tenon profile'")
      ->group("Methods");
  command.add_option("--fuse", options.fuse, "Fuse batch norms, activations, additions, pads")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str()
      ->group("Methods");
  command
      .add_option("--input-format", options.input_formats,
                  "NAME=u8,nhwc,mean=M,scale=S: an input as a device delivers it (u8, i8 or f32; "
                  "nhwc or nchw), of which the model takes (x - mean) * scale; a number for each "
                  "channel as M:M:M. The first convolution reads it as it is where it can")
      ->allow_extra_args(false)
      ->group("Numbers");
  command
      .add_option("--weights", options.weights,
                  "How the plan stores weights of convolutions and matrix products in f32: as the "
                  "model does, as f32, or in fewer bits (int8: with a scale for each output "
                  "channel); they compute in f32 all the same")
      ->check(CLI::IsMember({"model", "f32", "f16", "int8"}))
      ->capture_default_str()
      ->group("Numbers");
  command
      .add_option(
          "--order", options.order,
          "Order of ops: the model's own, the best that a search finds, a random one, or of "
          "several the one that runs fastest on the target")
      ->check(CLI::IsMember({"source", "search", "random", "measured"}))
      ->capture_default_str()
      ->group("Methods");
  command
      .add_option("--order-budget", options.order_budget,
                  "Work of the search: about two microseconds each, the same on every machine")
      ->check(AtLeast(0))
      ->capture_default_str()
      ->group("Methods");
  command
      .add_option("--order-target", options.order_target_ms,
                  "Stop the search at the first order predicted to take at most so many ms")
      ->check(AtLeast(0))
      ->group("Methods");
  command
      .add_option("--key-nodes", options.key_nodes,
                  "Cut the graph at nodes that all paths go through, and search part by part")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str()
      ->group("Methods");
  AddMappingOptions(command, options.mapping);
  AddQuantizeOptions(command, options.quantize);
  AddMeasureOptions(command, options);
  command.add_option("--seed", options.seed, "Of what is left to chance in searches")
      ->capture_default_str()
      ->group("Methods");
  command.add_option("--json", options.json, "Write every decision there")->group("Reports");
  command.add_flag("-v", options.verbose, "Print passes and the final graph")->group("Reports");
  command.add_flag("-q", options.quiet, "Print nothing but errors")->group("Reports");
}

}  // namespace tenon::tool
