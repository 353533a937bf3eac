// Tenon converter: model file to plan, from a program instead of the `tenon` command. C++17 or
// later; link tenon::converter.
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
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tenon {
inline namespace api_v1 {

/// The same as the options of `tenon convert`, which has the words for each; orders are measured by
/// the command alone.
struct ConvertRequest {
  std::string model;  ///< path of an .onnx file
  std::string board;  ///< a built-in board's name, or the path of a board file
  int64_t batch = 0;  ///< value of a free first dimension of the inputs; 0: none is given
  std::map<std::string, std::vector<int64_t>> shapes;  ///< full shape, by input
  std::map<std::string, int64_t> memory_limits;        ///< bytes, by memory space; hard
  bool fuse = true;

  /// A constant for an input that the plan then no longer has.
  struct Constant {
    std::string dtype;             ///< "f32", "f16", "i32", ...: as `tenon inspect` prints them
    std::vector<int64_t> shape;    ///< of the model's input
    std::vector<std::byte> bytes;  ///< row-major, in this machine's byte order
  };
  std::map<std::string, Constant> freeze;  ///< by input

  enum class Order {
    kSource,  ///< the model's own
    kSearch,  ///< the best that is found, by predicted time or memory
    kRandom,  ///< one of all, by the seed: a baseline for comparisons
  };
  Order order = Order::kSearch;
  std::optional<int64_t> order_budget;  ///< work of the search, at least 0; none: the default
  uint64_t seed = 1;                    ///< of what is left to chance in searches
  bool key_nodes = true;  ///< cut the graph at nodes that all paths go through before searching
  bool split = true;      ///< split ops and chains that do not fit the board's memory

  enum class Objective {
    kLatency,  ///< least predicted time
    kMemory,   ///< the smallest arena, at the price of time
  };
  Objective objective = Objective::kLatency;

  /// Arithmetic on 8-bit integers for a float model (docs/quantisation.md).
  struct Quantize {
    /// Samples by the name that their file would have in --calibration DIR; "labels": the classes.
    std::map<std::string, Constant> samples;
    std::string ranges = "auto";    ///< "auto", "minmax", "mse" or "percentile"
    double snr_db = 30;             ///< signal to noise that every output is to keep
    std::vector<std::string> keep;  ///< patterns of ops that stay float
  };
  std::optional<Quantize> quantize;
  std::string profile;  ///< path of costs measured by `tenon profile`; empty: the board's figures
};

struct ConvertError {
  enum class Kind {
    kUsage,       ///< unknown board or memory space, bad value
    kInput,       ///< the model is refused: unreadable, malformed, unsupported ops
    kDoesNotFit,  ///< the plan needs more memory than the board or a limit gives
    kBackend,     ///< folding constants failed on this machine
    kInternal,    ///< the converter's own mistake, or memory ran out
  };
  Kind kind = Kind::kInternal;
  std::string message;               ///< one line
  std::vector<std::string> details;  ///< one line each: every unsupported op, say
};

struct ConvertedPlan {
  std::vector<uint8_t> bytes;  ///< a plan file; the same request gives the same bytes
  std::string decisions_json;  ///< what `tenon convert --json` writes
};

/// A plan, or why there is none. Converts to true where there is one.
class [[nodiscard]] ConvertOutcome {
 public:
  ConvertOutcome(ConvertedPlan plan) : plan_(std::move(plan)) {}    // NOLINT: implicit on purpose
  ConvertOutcome(ConvertError error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const { return plan_.has_value(); }
  const ConvertedPlan& operator*() const { return *plan_; }
  const ConvertedPlan* operator->() const { return &*plan_; }
  [[nodiscard]] const ConvertError& error() const { return error_; }

 private:
  std::optional<ConvertedPlan> plan_;
  ConvertError error_;
};

/// Converts. Throws nothing. Writes no file.
[[nodiscard]] ConvertOutcome Convert(const ConvertRequest& request);

}  // namespace api_v1
}  // namespace tenon
