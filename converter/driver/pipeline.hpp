// Converts a model file into a plan and records every decision.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/code/segment_code.hpp"
#include "converter/driver/fit.hpp"
#include "converter/driver/outside_inputs.hpp"
#include "converter/driver/parallel_programs.hpp"
#include "converter/driver/tie_states.hpp"
#include "converter/import/import_options.hpp"
#include "converter/ir/pass.hpp"
#include "converter/passes/apply_input_formats.hpp"
#include "converter/passes/apply_output_formats.hpp"
#include "converter/passes/store_weights.hpp"
#include "converter/quantize/quantize_model.hpp"

namespace tenon::converter {

/// Says how a model is converted, grouped by the component that reads each option.
struct ConvertOptions {
  std::filesystem::path model;
  Board board;
  ImportOptions import;
  bool fuse = true;
  std::vector<TiedState> states;              ///< outputs whose values inputs find in the next run
  std::vector<InputFormat> input_formats;     ///< for inputs that devices deliver in another format
  std::vector<OutputFormat> output_formats;   ///< for outputs that are read in another layout
  std::vector<InputFrom> input_from;          ///< inputs that lie in memory of the caller's own
  WeightsForm weights = WeightsForm::kModel;  ///< how weights of ops in f32 are stored
  std::optional<QuantizeOptions> quantize;    ///< makes a float model compute with integers
  /// Of its kernel options only pins and backends are read, and its profile is ignored: the rest
  /// comes from the board and from `profile` and `variants` here. Without backends, all that this
  /// build knows are used.
  CompileOptions compile;
  SplitOptions split;
  bool relax_limit = false;  ///< raise a limit of the arena's space that cannot be met
  ParallelOptions parallel;
  std::shared_ptr<const Profile> profile;  ///< measured costs; null: costs come from the board
  /// The variants that kernels run with; null: the profile's choice, if it has one.
  std::shared_ptr<const VariantChoice> variants;
  /// The user's options, which are recorded in the plan.
  std::vector<std::pair<std::string, std::string>> recorded;
  /// Called when a phase begins, with its name, its index and the number of phases. May be empty.
  std::function<void(const std::string& phase, int index, int count)> progress;
};

/// An op that runs elsewhere than on the board's accelerator.
struct OpBesideAccelerator {
  std::string op;
  std::string kind;
  std::string backend;  ///< that runs it
  std::string reason;   ///< why the accelerator does not
};

/// An input that lies in memory of the caller's own, or comes by rows.
struct OutsideInputReport {
  std::string input;
  int64_t bytes = 0;
  int32_t rows = 0;  ///< at a time; 0: all of it is in memory
};

struct Conversion : CompileReport {
  std::vector<uint8_t> plan;
  std::string graph_text;                         ///< the final graph, for -v
  std::vector<std::string> warnings;              ///< of the importer
  std::vector<std::filesystem::path> files_read;  ///< beside the model, by the importer
  std::vector<PassReport> passes;
  WeightsReport weights;
  std::vector<OutsideInputReport> outside;
  SplitReport op_splits;
  MemorySplit chain_splits;
  bool lean_kernels = false;  ///< see Fitted::lean
  std::string only_unit;      ///< see Fitted::only_unit
  bool cut_short = false;     ///< the time limit passed before all searches were over
  int64_t relaxed_limit =
      0;  ///< bytes of the arena's space that were allowed in the end; 0: as asked
  ParallelReport parallel;
  std::vector<SegmentCodeReport> codes;  ///< of segments on an accelerator
  std::vector<OpBesideAccelerator> not_accelerated;
  std::optional<QuantizationReport> quantization;
  size_t ops_imported = 0;
  size_t ops_executed = 0;                       ///< without views, which are not executed
  std::map<std::string, size_t> ops_by_backend;  ///< counts the executed ops
  /// The same by backend and kind.
  std::map<std::string, std::map<std::string, size_t>> kinds_by_backend;
};

/// Errors: kInput (the model is refused), kDoesNotFit (the arena or the constants exceed the
/// board's memory; says by how much), kInternal (a pass left an invalid graph, which is a bug in
/// the converter).
[[nodiscard]] Result<Conversion> Convert(const ConvertOptions& options);

/// Converts a graph instead of a file; tests and generated models use it.
[[nodiscard]] Result<Conversion> ConvertGraph(const Graph& graph, const ConvertOptions& options);

/// Runs the model-level passes (everything before kernels are chosen). `for_time`: as
/// PassContext::for_time.
[[nodiscard]] Status Canonicalise(Graph& graph, bool fuse, std::vector<PassReport>& reports,
                                  bool for_time = true);

}  // namespace tenon::converter
