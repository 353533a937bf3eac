// Tenon converter: model file to plan, from a program instead of the `tenon` command, which is
// built on this. C++17 or later; link tenon::converter.
//
//   tenon::ConvertRequest request;
//   request.model = "model.onnx";
//   request.board = "x86-64";
//   auto converted = tenon::Convert(request);
//   if (!converted) return Complain(converted.error().message);
//
// Threads: calls are independent of each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenon {
struct BackendCaps;
inline namespace api_v1 {

struct ConvertError {
  enum class Kind {
    kUsage,       ///< unknown board or memory space, bad value
    kInput,       ///< the model is refused: unreadable, malformed, unsupported ops
    kDoesNotFit,  ///< the plan needs more memory than the board, a limit or this machine gives
    kBackend,     ///< running something on this machine failed
    kInternal,    ///< the converter's own mistake
  };
  Kind kind = Kind::kInternal;
  std::string message;               ///< one line
  std::vector<std::string> details;  ///< one line each: every unsupported op, say
};

/// A value, or why there is none. Converts to true where there is one.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}             // NOLINT: implicit on purpose
  Outcome(ConvertError error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const { return value_.has_value(); }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  const T* operator->() const { return &*value_; }
  /// Why there is no value; only then.
  [[nodiscard]] const ConvertError& error() const { return error_; }

 private:
  std::optional<T> value_;
  ConvertError error_;
};

/// Where candidates for --order=measured run. They are numbered from 0.
class OrderTarget {
 public:
  virtual ~OrderTarget() = default;
  /// Takes a candidate's plan, which it must keep until the conversion ends.
  virtual void Store(size_t candidate, const std::vector<uint8_t>& plan) = 0;
  [[nodiscard]] virtual std::vector<uint8_t> Load(size_t candidate) = 0;
  /// True if they run on the machine that converts: a board that it is not is refused then.
  [[nodiscard]] virtual bool IsThisMachine() const { return false; }
  /// Returns the median time of a run on this number of threads, in milliseconds.
  [[nodiscard]] virtual double MedianMs(size_t candidate, int threads) = 0;
};

/// The fields are the options of `tenon convert`, whose help text explains each.
struct ConvertRequest {
  std::string model;       ///< path of an .onnx, .tflite or (Caffe) .prototxt file
  std::string caffemodel;  ///< path of a Caffe network's weights; empty: beside its .prototxt
  std::string board;       ///< a built-in board's name, or the path of a board file
  int64_t batch = 0;       ///< value of a free first dimension of the inputs; 0: none is given
  std::map<std::string, std::vector<int64_t>> shapes;  ///< full shape, by input
  std::map<std::string, int64_t> memory_limits;        ///< bytes, by memory space; hard
  int64_t max_memory = 0;  ///< of constants during conversion; 0: 256 MiB + 16 times the model
  bool fuse = true;

  /// A constant for an input that the plan then no longer has.
  struct Constant {
    std::string dtype;             ///< "f32", "f16", "i32", ...: as `tenon inspect` prints them
    std::vector<int64_t> shape;    ///< of the model's input
    std::vector<std::byte> bytes;  ///< row-major, in this machine's byte order
  };
  std::map<std::string, Constant> freeze;  ///< by input
  /// An output's name, and the input that finds in the next run what the output held: both are then
  /// state of a session, and no ports of the plan (docs/state.md).
  std::vector<std::pair<std::string, std::string>> states;
  /// An input's name, and how a device delivers it: "u8,nhwc,mean=M,scale=S" (docs/inputs.md).
  std::vector<std::pair<std::string, std::string>> input_formats;
  /// An output's name, and the layout in which it is read: "nhwc" or "nchw" (docs/inputs.md).
  std::vector<std::pair<std::string, std::string>> output_formats;
  /// An input's name, and where it comes from: "memory" of the caller's own, which runs only read,
  /// or "rows:N", handed in N rows at a time (docs/inputs.md). Other inputs lie in an arena.
  std::vector<std::pair<std::string, std::string>> input_from;
  /// Where align_corners of ONNX's Resize puts the last corner if a scale gives no whole size: by
  /// the "scales", as ONNX's text says, or by the "sizes", as ONNX Runtime and PyTorch do.
  std::string align_corners = "scales";
  std::string weights = "model";  ///< how they are stored: "model", "f32", "f16" or "int8"

  enum class Order {
    kSource,  ///< the model's own
    kSearch,  ///< the best that is found, by predicted time or memory
    kRandom,  ///< one of all, by the seed: a baseline for comparisons
  };
  Order order = Order::kSearch;
  /// Instead of `order`: several orders are tried on the target, and the fastest is kept.
  struct MeasuredOrders {
    OrderTarget* target = nullptr;  ///< null: none is measured
    /// The search's, the model's own, then random ones; half of the rest is proposed from what has
    /// been measured until then.
    int orders = 6;
    int rounds = 3;  ///< in which all are measured by turns
  };
  MeasuredOrders measured;
  std::optional<int64_t> order_budget;  ///< work of the search, at least 0; none: the default
  double order_target_ms = 0;  ///< stop at the first order predicted to take no longer; 0: none
  uint64_t seed = 1;           ///< of what is left to chance in searches
  bool key_nodes = true;  ///< cut the graph at nodes that all paths go through before searching
  /// Subgraphs between such nodes have at least so many ops, at least 1: larger ones let the search
  /// see more orders, and take it longer.
  int subgraph_ops = 4;
  bool split = true;                  ///< split ops and chains that do not fit the board's memory
  bool memory_program = true;         ///< run ops again and move tensors where memory is short
  bool force_memory_program = false;  ///< even where splitting alone would be faster
  bool relax_limit = false;  ///< raise a memory limit that cannot be met, instead of refusing
  /// Seconds after which searches settle for the best that they have; 0: none. With a limit the
  /// plan depends on the machine's speed.
  double time_limit_seconds = 0;

  enum class Objective {
    kLatency,     ///< least predicted time
    kMemory,      ///< the smallest arena, at the price of time
    kThroughput,  ///< most inferences a second, for a stream of inputs
  };
  Objective objective = Objective::kLatency;
  double most_slowdown = 0;  ///< of kMemory: over the time of the model unsplit; 0: any

  /// Which backend runs an op.
  struct Mapping {
    bool optimal = false;             ///< by predicted time, instead of the board's priority table
    bool table_in_pipelines = false;  ///< their stages too keep to the table's first choice
    std::vector<std::string> pins;    ///< "PATTERN=BACKEND,...": ops by name, whatever else holds
    bool fallback = false;            ///< CPU kernels too for what runs on devices
    bool aggregate = true;            ///< start a device once for neighbouring ops, not for each
  };
  Mapping mapping;

  struct Parallel {
    /// Or "pipeline", or "intra", "inter" and "replicas", alone or joined by '+'.
    std::string mode = "auto";
    int threads = 1;            ///< of the CPU, that runs of the plan may use in all
    bool fuse_branches = true;  ///< start ops of parallel branches together where that is faster
    /// Rows of a batch that one call hands in, for a model of one row; 0: the model's own batch.
    int64_t rows_per_call = 0;
    int32_t channel_depth = 0;  ///< buffers between a pipeline's stages; 0: from their times
    /// Cuts a pipeline again by what its stages took when they were built, until that gains
    /// nothing.
    bool balance = true;
  };
  Parallel parallel;

  /// Arithmetic on 8-bit integers for a float model (docs/quantisation.md).
  struct Quantize {
    /// Samples by the name that their file would have in --calibration DIR; "labels": the classes.
    std::map<std::string, Constant> samples;
    std::string ranges = "auto";    ///< "auto", "minmax", "mse" or "percentile"
    double snr_db = 30;             ///< signal to noise that every output is to keep
    std::vector<std::string> keep;  ///< patterns of ops that stay float
  };
  std::optional<Quantize> quantize;
  /// Backends from outside the tree (tenon/backend.hpp), beside those of the build. Borrowed.
  std::vector<const BackendCaps*> backends;
  std::string profile;  ///< path of costs measured by `tenon profile`; empty: the board's figures

  /// Names and values that the plan is to record about how it was made.
  std::vector<std::pair<std::string, std::string>> recorded;
  /// Makes `decisions_json` and `details` of the result, which takes milliseconds.
  bool reports = true;
  /// Is called when a phase begins, with its name and its place among all. May be empty.
  std::function<void(const std::string& phase, int index, int count)> progress;
};

/// An order that was tried on the target.
struct MeasuredOrder {
  std::string order;  ///< "search", "source", "random" or "proposed"
  uint64_t seed = 0;
  std::optional<double> ms;            ///< median of a run; none if it was not measured
  std::optional<int64_t> arena_bytes;  ///< none if it does not fit
  std::optional<size_t> same_as;       ///< the earlier order, from 0, that gave the same plan
  std::optional<size_t> varies;        ///< of a proposed one: the order, from 0, that it varies
  std::string dropped;                 ///< why it was not measured; empty if it was
  bool chosen = false;
};

struct ConvertedPlan {
  std::vector<uint8_t> bytes;  ///< a plan file; the same request gives the same bytes
  std::string decisions_json;  ///< what `tenon convert --json` writes; see `reports`
  std::string summary;         ///< what was decided, in lines
  std::string details;         ///< the same with passes, single layers and the final graph
  size_t ops_imported = 0;
  size_t ops_executed = 0;
  std::vector<MeasuredOrder> measured;  ///< if orders were measured: all, as they were made
  std::vector<std::string> files_read;  ///< beside the model: its external data
};
using ConvertOutcome = Outcome<ConvertedPlan>;

/// Converts. Throws nothing, writes no file. (What functions of the request throw that is no
/// std::exception passes through.)
[[nodiscard]] ConvertOutcome Convert(const ConvertRequest& request);

/// A plan as C source for firmware (docs/firmware.md).
struct CSource {
  std::string header;
  std::string source;
};

/// `plan` is a whole plan file. All is named after `name`, as far as C allows. The source includes
/// its header as `header_file`. With a `plan_file` it is for the assembler, which reads the plan's
/// bytes from there; without, they are an array. Errors: kUsage, firmware cannot run such a plan.
[[nodiscard]] Outcome<CSource> EmitCSource(const std::vector<uint8_t>& plan,
                                           const std::string& name, const std::string& header_file,
                                           const std::string& plan_file = "");

/// The work that a request without a budget gives to the search for an order.
[[nodiscard]] int64_t DefaultOrderBudget();

}  // namespace api_v1
}  // namespace tenon
