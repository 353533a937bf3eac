// Implements the public interface of the converter (tenon/converter.hpp) with the pipeline.
#include <algorithm>

#include "converter/api/measured_orders.hpp"
#include "converter/api/outcome.hpp"
#include "converter/api/what_is_left.hpp"
#include "converter/did_you_mean.hpp"
#include "converter/emit/c_source.hpp"
#include "converter/json_text.hpp"
#include "converter/report/decisions.hpp"
#include "converter/report/summary.hpp"
#include "runtime/base/most_threads.hpp"

namespace tenon::converter {
namespace {

Result<DType> DTypeNamed(const char* what, const std::string& name, const std::string& dtype) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (dtype == DTypeName(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return UsageError("{} '{}': no dtype '{}'", what, name, dtype);
}

/// Leaves the comparison of dtype, shape and bytes with the model to the importer.
Result<ImportOptions::Frozen> FrozenOf(const std::string& name,
                                       const ConvertRequest::Constant& constant) {
  ImportOptions::Frozen frozen;
  TENON_ASSIGN_OR_RETURN(frozen.dtype, DTypeNamed("freeze", name, constant.dtype));
  if (constant.shape.size() > static_cast<size_t>(kMaxRank)) {
    return UsageError("freeze '{}': rank {}, {} at most", name, constant.shape.size(), kMaxRank);
  }
  for (const int64_t dim : constant.shape) {
    if (dim < 0 || dim > INT32_MAX) {
      return UsageError("freeze '{}': no tensor has a dimension of {}", name, dim);
    }
    frozen.shape.dims[frozen.shape.rank++] = static_cast<int32_t>(dim);
  }
  frozen.bytes = constant.bytes;
  return frozen;
}

/// Returns the element of `values` with this name.
template <typename T>
Result<T> Named(const char* what, const std::string& name, std::initializer_list<T> values) {
  for (const T value : values) {
    if (name == Name(value)) return value;
  }
  return UsageError("no {} '{}'", what, name);
}

Result<QuantizeOptions> QuantizeOf(const ConvertRequest::Quantize& request) {
  QuantizeOptions options;
  for (const auto& [name, constant] : request.samples) {
    TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeNamed("quantize", name, constant.dtype));
    options.arrays.push_back({name, dtype, constant.shape, constant.bytes});
  }
  TENON_ASSIGN_OR_RETURN(options.ranges, Named("ranges", request.ranges,
                                               {RangeMethod::kAuto, RangeMethod::kMinMax,
                                                RangeMethod::kMse, RangeMethod::kPercentile}));
  options.goal.decibel = request.snr_db;
  options.keep = request.keep;
  return options;
}

Status ReadBoard(const ConvertRequest& request, Board& board) {
  TENON_ASSIGN_OR_RETURN(board, LoadBoard(request.board));
  for (const auto& [name, bytes] : request.memory_limits) {
    MemorySpace* space = board.FindSpace(name);
    if (space == nullptr) {
      std::vector<std::string> names;
      for (const MemorySpace& known : board.memory_spaces) names.push_back(known.name);
      return UsageError("board '{}' has no memory space '{}': {}it has {}", board.name, name,
                        DidYouMean(name, names), fmt::join(names, ", "));
    }
    if (bytes < 0) return UsageError("memory limit '{}' = {} < 0", name, bytes);
    space->bytes = bytes;
    space->reserve_bytes = 0;
  }
  return {};
}

Status CheckShapes(const ConvertRequest& request) {
  for (const auto& [name, dims] : request.shapes) {
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] >= 0) continue;
      return UsageError("--shape {}: dimension {} is {}: give 0 or more", name, i, dims[i]);
    }
  }
  return {};
}

/// Reads the options about inputs, dtypes and quantization.
Status ReadInputs(const ConvertRequest& request, ConvertOptions& options) {
  if (request.batch < 0) return UsageError("batch {} < 0", request.batch);
  options.import.batch = request.batch;
  TENON_RETURN_IF_ERROR(CheckShapes(request));
  options.import.shapes = request.shapes;
  options.import.caffemodel = request.caffemodel;
  options.import.corners_by_sizes = request.align_corners == "sizes";
  if (!options.import.corners_by_sizes && request.align_corners != "scales") {
    return UsageError("no place of corners '{}': scales or sizes", request.align_corners);
  }
  if (request.max_memory < 0) return UsageError("max memory {} < 0", request.max_memory);
  options.import.max_memory = request.max_memory;
  for (const auto& [name, constant] : request.freeze) {
    TENON_ASSIGN_OR_RETURN(options.import.freeze[name], FrozenOf(name, constant));
  }
  options.states = request.states;
  for (const auto& [name, text] : request.input_formats) {
    TENON_ASSIGN_OR_RETURN(InputFormat format, ParseInputFormat(name, text));
    options.input_formats.push_back(std::move(format));
  }
  for (const auto& [name, text] : request.output_formats) {
    TENON_ASSIGN_OR_RETURN(OutputFormat format, ParseOutputFormat(name, text));
    options.output_formats.push_back(std::move(format));
  }
  for (const auto& [name, text] : request.input_from) {
    TENON_ASSIGN_OR_RETURN(InputFrom from, ParseInputFrom(name, text));
    options.input_from.push_back(std::move(from));
  }
  TENON_ASSIGN_OR_RETURN(options.weights, Named("form of weights", request.weights,
                                                {WeightsForm::kModel, WeightsForm::kF32,
                                                 WeightsForm::kF16, WeightsForm::kInt8}));
  return {};
}

// The public enumerators have the same order as the internal ones.
static_assert(static_cast<int>(ConvertRequest::Order::kSearch) ==
              static_cast<int>(OrderMode::kSearch));
static_assert(static_cast<int>(ConvertRequest::Order::kRandom) ==
              static_cast<int>(OrderMode::kRandom));
static_assert(static_cast<int>(ConvertRequest::Objective::kMemory) ==
              static_cast<int>(Objective::kMemory));
static_assert(static_cast<int>(ConvertRequest::Objective::kThroughput) ==
              static_cast<int>(Objective::kThroughput));

/// Reads what to search for, and how.
Status ReadSearches(const ConvertRequest& request, ConvertOptions& options) {
  OrderOptions& order = options.compile.order;
  order.mode = static_cast<OrderMode>(request.order);
  order.budget = request.order_budget.value_or(order.budget);
  if (order.budget < 0) return UsageError("order budget {} < 0", order.budget);
  order.seed = request.seed;
  order.key_nodes = request.key_nodes;
  order.subgraph_ops = request.subgraph_ops;
  if (order.subgraph_ops < 1) return UsageError("subgraph ops {} < 1", order.subgraph_ops);
  order.target_ms = request.order_target_ms;
  if (!(request.time_limit_seconds >= 0)) {
    return UsageError("time limit {} < 0", request.time_limit_seconds);
  }
  if (request.time_limit_seconds > 0) {
    options.compile.time_limit = TimeLimit::After(request.time_limit_seconds);
  }
  options.compile.objective = static_cast<Objective>(request.objective);
  options.split.allowed = request.split;
  const MemorySpace* space = options.board.ArenaSpace();
  options.split.limit_asked = space != nullptr && request.memory_limits.count(space->name) != 0;
  options.split.program = request.memory_program;
  options.split.force_program = request.memory_program && request.force_memory_program;
  options.relax_limit = request.relax_limit;
  options.split.most_slowdown = request.most_slowdown;
  if (request.most_slowdown > 0 && request.objective != ConvertRequest::Objective::kMemory) {
    return UsageError("--most-slowdown is for --objective=memory");
  }
  for (const std::string& text : request.mapping.pins) {
    TENON_ASSIGN_OR_RETURN(const std::vector<Pin> pins, ParsePins(text));
    std::vector<Pin>& all = options.compile.kernels.pins;
    all.insert(all.end(), pins.begin(), pins.end());
  }
  options.compile.mapping = request.mapping.optimal ? MappingMode::kOptimal : MappingMode::kTable;
  options.compile.fallback = request.mapping.fallback;
  options.compile.aggregate = request.mapping.aggregate;
  TENON_ASSIGN_OR_RETURN(options.parallel.mode, ParseParallelMode(request.parallel.mode));
  options.parallel.threads = request.parallel.threads;
  if (options.parallel.threads < 1 || options.parallel.threads > kMostThreads) {
    return UsageError("--threads {}: give 1 to {}", options.parallel.threads, kMostThreads);
  }
  options.compile.branches = {request.parallel.fuse_branches, request.parallel.threads};
  options.parallel.rows_per_call = request.parallel.rows_per_call;
  options.parallel.keep_table = request.mapping.table_in_pipelines;
  options.parallel.channel_depth = request.parallel.channel_depth;
  options.parallel.balance = request.parallel.balance;
  return {};
}

/// Replaces the board's rows by measured priorities, for the ops that those rank.
void UsePriorities(const std::vector<Priority>& measured, Board& board) {
  const auto is_ranked = [&](const Priority& row) {
    return std::any_of(measured.begin(), measured.end(),
                       [&](const Priority& better) { return better.op == row.op; });
  };
  std::erase_if(board.priorities, is_ranked);
  board.priorities.insert(board.priorities.end(), measured.begin(), measured.end());
}

Status ReadProfile(const std::string& file, ConvertOptions& options) {
  TENON_ASSIGN_OR_RETURN(Profile profile, LoadProfile(file));
  TENON_RETURN_IF_ERROR(CheckProfileFits(profile, options.board));
  UsePriorities(profile.priorities, options.board);
  options.profile = std::make_shared<const Profile>(std::move(profile));
  return {};
}

Result<ConvertOptions> OptionsOf(const ConvertRequest& request) {
  ConvertOptions options;
  options.model = request.model;
  TENON_RETURN_IF_ERROR(ReadBoard(request, options.board));
  TENON_RETURN_IF_ERROR(ReadInputs(request, options));
  options.fuse = request.fuse;
  TENON_RETURN_IF_ERROR(ReadSearches(request, options));
  if (request.quantize) {
    TENON_ASSIGN_OR_RETURN(options.quantize, QuantizeOf(*request.quantize));
  }
  if (!request.profile.empty()) TENON_RETURN_IF_ERROR(ReadProfile(request.profile, options));
  if (!request.backends.empty()) {
    std::vector<BackendCaps>& known = options.compile.kernels.backends;
    known = BuiltInBackends();
    for (const BackendCaps* caps : request.backends) known.push_back(*caps);
  }
  options.recorded = request.recorded;
  options.progress = request.progress;
  return options;
}

Result<MeasuredConversion> ConvertOrMeasure(const ConvertRequest& request) {
  TENON_ASSIGN_OR_RETURN(const ConvertOptions options, OptionsOf(request));
  if (request.measured.target != nullptr) return ConvertMeasured(options, request.measured);
  Result<Conversion> conversion = Convert(options);
  if (conversion.ok()) return MeasuredConversion{std::move(*conversion), {}};
  Error error = conversion.error();
  // What takes a program longer than a user waits for an answer is not worth trying.
  constexpr double kSeconds = 10;
  const double limit = request.time_limit_seconds;
  const Result<Board> chip = LoadBoard(request.board);
  if (chip.ok()) {
    AddWhatIsLeft(options, *chip, limit > 0 ? std::min(limit, kSeconds) : kSeconds, error);
  }
  return error;
}

/// True if all elements of an array have the same bytes.
bool IsConstant(const ConvertRequest::Constant& array) {
  int64_t elements = 1;
  for (const int64_t dim : array.shape) elements *= dim;
  if (elements < 2) return false;
  const size_t element = array.bytes.size() / static_cast<size_t>(elements);
  return std::equal(array.bytes.begin() + static_cast<std::ptrdiff_t>(element), array.bytes.end(),
                    array.bytes.begin());
}

/// What makes the ranges of a quantized model doubtful though nothing is wrong.
std::string CalibrationWarnings(const ConvertRequest& request, const Conversion& conversion) {
  if (!request.quantize || !conversion.quantization) return "";
  std::string text;
  if (conversion.quantization->samples == 1) {
    text +=
        "warning: calibration: one sample: ranges cover what it shows and nothing else; a few "
        "dozen are enough\n";
  }
  std::string constant;
  size_t count = 0;
  for (const auto& [name, array] : request.quantize->samples) {
    if (name == "labels" || !IsConstant(array)) continue;
    if (++count == 1) constant = name;
  }
  if (count > 0) {
    text += fmt::format(
        "warning: calibration: every value of '{}'{} is the same: ranges of a constant input say "
        "nothing about real ones\n",
        constant, count > 1 ? fmt::format(" and {} more", count - 1) : "");
  }
  return text;
}

Result<ConvertedPlan> ConvertModel(const ConvertRequest& request) {
  TENON_ASSIGN_OR_RETURN(MeasuredConversion made, ConvertOrMeasure(request));
  Conversion& conversion = made.conversion;
  ConvertedPlan plan;
  if (request.reports) {
    nlohmann::ordered_json decisions = DecisionsJson(conversion);
    if (!made.orders.empty()) decisions["order"]["measured"] = MeasuredJson(made.orders);
    plan.decisions_json = JsonText(decisions) + "\n";
    plan.details = Summary(conversion, /*verbose=*/true);
  }
  std::string warnings;
  for (const std::string& warning : conversion.warnings) warnings += "warning: " + warning + "\n";
  warnings += CalibrationWarnings(request, conversion);
  plan.summary = Summary(conversion, /*verbose=*/false) + warnings;
  if (!plan.details.empty()) plan.details += warnings;
  plan.ops_imported = conversion.ops_imported;
  plan.ops_executed = conversion.ops_executed;
  plan.measured = std::move(made.orders);
  for (const auto& file : conversion.files_read) plan.files_read.push_back(file.string());
  plan.bytes = std::move(conversion.plan);
  return plan;
}

}  // namespace
}  // namespace tenon::converter

namespace tenon {
inline namespace api_v1 {

ConvertOutcome Convert(const ConvertRequest& request) {
  return converter::ToOutcome<ConvertedPlan>([&] { return converter::ConvertModel(request); });
}

Outcome<CSource> EmitCSource(const std::vector<uint8_t>& plan, const std::string& name,
                             const std::string& header_file, const std::string& plan_file) {
  return converter::ToOutcome<CSource>([&]() -> converter::Result<CSource> {
    TENON_ASSIGN_OR_RETURN(
        converter::CSource source,
        converter::EmitCSource(plan, {converter::CIdentifier(name), header_file, plan_file}));
    return CSource{std::move(source.header), std::move(source.source)};
  });
}

int64_t DefaultOrderBudget() { return converter::OrderOptions{}.budget; }

}  // namespace api_v1
}  // namespace tenon
