// tenon convert: model to plan.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>

#include "converter/pipeline.hpp"
#include "converter/report/decisions.hpp"
#include "sdk/tools/atomic_file.hpp"
#include "sdk/tools/converter_error.hpp"
#include "sdk/tools/npy.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model;
  std::string plan;
  std::string board;
  int64_t batch = 0;
  std::vector<std::string> shapes;
  std::vector<std::string> freeze;
  std::vector<std::string> memory_limits;
  std::string fuse = "on";
  std::string order = "search";
  int64_t order_budget = converter::MemoryOrderOptions{}.work_budget;
  uint64_t seed = 1;
  std::string json;
  bool verbose = false;
  bool quiet = false;
};

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

/// One line on a terminal, rewritten as phases go by; nothing until a second has passed.
class Progress {
 public:
  Progress() : start_(Clock::now()) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(const std::string& phase, int index, int count) {
    if (isatty(STDERR_FILENO) == 0 || Clock::now() - start_ < std::chrono::seconds(1)) return;
    std::cerr << fmt::format("\r\033[K[{}/{}] {}", index, count, phase) << std::flush;
    shown_ = true;
  }
  void Clear() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
    shown_ = false;
  }

 private:
  Clock::time_point start_;
  bool shown_ = false;
};

converter::ConvertOptions ToConvertOptions(const Options& options) {
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
  convert.order =
      options.order == "search" ? converter::OrderMode::kSearch : converter::OrderMode::kSource;
  convert.order_budget = options.order_budget;
  convert.seed = options.seed;
  convert.recorded.emplace_back("order", options.order);
  convert.recorded.emplace_back("order-budget", std::to_string(options.order_budget));
  convert.recorded.emplace_back("seed", std::to_string(options.seed));
  return convert;
}

void PrintSummary(const converter::Conversion& conversion, const Options& options, double seconds) {
  const converter::MemoryReport& memory = conversion.memory;
  const double gap = memory.lower_bound == 0
                         ? 0.0
                         : 100.0 * static_cast<double>(memory.arena_bytes - memory.lower_bound) /
                               static_cast<double>(memory.lower_bound);
  std::cout << fmt::format("{}: {} bytes, {} ops (of {} imported), in {:.2f} s\n", options.plan,
                           conversion.plan.size(), conversion.ops_executed, conversion.ops_imported,
                           seconds);
  std::cout << fmt::format(
      "{}: arena {} bytes ({:.2f}% above the lower bound{}), constants {} "
      "bytes\n",
      memory.space, memory.arena_bytes, gap, memory.proven_optimal ? ", proven optimal" : "",
      memory.constants_bytes);
  if (conversion.order.changed) {
    std::cout << fmt::format("order: another than the model's, which needs {} bytes\n",
                             memory.source_order_bytes);
  }
  if (!options.verbose) return;
  for (const converter::PassReport& pass : conversion.passes) {
    std::cout << fmt::format("pass {}: {} changed, {} declined\n", pass.name, pass.changed,
                             pass.declined.size());
    for (const converter::Declined& entry : pass.declined) {
      std::cout << fmt::format("  {}: {}\n", entry.op, entry.reason);
    }
  }
  std::cout << conversion.graph_text;
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored) ||
         std::filesystem::weakly_canonical(a, ignored) ==
             std::filesystem::weakly_canonical(b, ignored);
}

/// One output must not replace another, nor the model.
void CheckOutputs(const Options& options) {
  if (IsSameFile(options.plan, options.model)) {
    Fail(kUsage, "-o {} would replace the model", options.plan);
  }
  if (options.json.empty()) return;
  const bool is_device = std::filesystem::is_character_file(options.json);
  if (IsSameFile(options.json, options.model) ||
      (!is_device && IsSameFile(options.json, options.plan))) {
    Fail(kUsage, "--json {} would replace the model or the plan", options.json);
  }
}

void Run(const Options& options) {
  const auto start = Clock::now();
  CheckOutputs(options);
  converter::ConvertOptions convert = ToConvertOptions(options);
  Progress progress;
  if (!options.quiet) {
    convert.progress = [&](const std::string& phase, int index, int count) {
      progress.Show(phase, index, count);
    };
  }
  const converter::Result<converter::Conversion> conversion = converter::Convert(convert);
  progress.Clear();
  if (!conversion.ok()) FailWith(conversion.error());
  WriteFile(options.plan, conversion->plan.data(), conversion->plan.size());
  if (!options.json.empty()) {
    WriteFile(options.json, converter::DecisionsJson(*conversion).dump(2) + "\n");
  }
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  if (!options.quiet) PrintSummary(*conversion, options, elapsed.count());
}

}  // namespace

void AddConvert(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("convert", "Compiles a model into a plan for a board.");
  command->add_option("MODEL", options->model, "Model file (.onnx)")->required();
  command->add_option("-o", options->plan, "Plan file to write (.tenon)")->required();
  command->add_option("--board", options->board, "A board's name (see 'tenon boards') or file")
      ->required();

  command->add_option("--batch", options->batch, "Value of a free first dimension of the inputs")
      ->check(AtLeast(1))
      ->group("Shapes");
  command->add_option("--shape", options->shapes, "NAME=1x3x224x224: shape of an input")
      ->allow_extra_args(false)
      ->group("Shapes");
  command->add_option("--freeze", options->freeze, "NAME=FILE.npy: makes an input a constant")
      ->allow_extra_args(false)
      ->group("Shapes");
  command
      ->add_option("--memory-limit", options->memory_limits,
                   "SPACE=BYTES (K, M, G): hard limit, instead of the board's")
      ->allow_extra_args(false)
      ->group("Memory");
  command->add_option("--fuse", options->fuse, "Fuse batch norms, activations, additions, pads")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str()
      ->group("Methods");
  command
      ->add_option("--order", options->order,
                   "Order of ops: the model's own, or the one that needs the least memory")
      ->check(CLI::IsMember({"source", "search"}))
      ->capture_default_str()
      ->group("Methods");
  command
      ->add_option("--order-budget", options->order_budget,
                   "Sets of finished ops that the search may look at")
      ->check(AtLeast(0))
      ->capture_default_str()
      ->group("Methods");
  command->add_option("--seed", options->seed, "Of what is left to chance in searches")
      ->capture_default_str()
      ->group("Methods");
  command->add_option("--json", options->json, "Write every decision there")->group("Reports");
  command->add_flag("-v", options->verbose, "Print passes and the final graph")->group("Reports");
  command->add_flag("-q", options->quiet, "Print nothing but errors")->group("Reports");
  command->callback([options] { Run(*options); });
}

}  // namespace tenon::tool
