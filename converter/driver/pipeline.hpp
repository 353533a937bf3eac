// The conversion: model file to plan, with every decision on record.
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
#include "converter/driver/fit.hpp"
#include "converter/driver/parallel_programs.hpp"
#include "converter/import/import_options.hpp"
#include "converter/ir/pass.hpp"
#include "converter/passes/apply_input_formats.hpp"
#include "converter/passes/store_weights.hpp"
#include "converter/quantize/quantize_model.hpp"

namespace tenon::converter {

/// How a model becomes a plan, in the groups that those who read them take.
struct ConvertOptions {
  std::filesystem::path model;
  Board board;
  ImportOptions import;
  bool fuse = true;
  std::vector<InputFormat> input_formats;     ///< of inputs that devices deliver otherwise
  WeightsForm weights = WeightsForm::kModel;  ///< how weights of ops in f32 are stored
  std::optional<QuantizeOptions> quantize;    ///< makes a float model compute with integers
  /// Of the kernels, only pins and backends are read, and no profile: the rest comes from the board
  /// and from `profile` and `variants` here. (No backends: those that this build knows.)
  CompileOptions compile;
  SplitOptions split;
  ParallelOptions parallel;
  std::shared_ptr<const Profile> profile;  ///< measured costs; null: the board's figures
  /// Which variants kernels run with; null: what the profile says, if it has one.
  std::shared_ptr<const VariantChoice> variants;
  /// What the user asked for, recorded in the plan.
  std::vector<std::pair<std::string, std::string>> recorded;
  /// Told when a phase begins: its name and its place among all. May be empty.
  std::function<void(const std::string& phase, int index, int count)> progress;
};

struct Conversion : CompileReport {
  std::vector<uint8_t> plan;
  std::string graph_text;  ///< the final graph, for -v
  std::vector<PassReport> passes;
  WeightsReport weights;
  SplitReport op_splits;
  MemorySplit chain_splits;
  bool lean_kernels = false;  ///< see Fitted::lean
  ParallelReport parallel;
  std::optional<QuantizationReport> quantization;
  size_t ops_imported = 0;
  size_t ops_executed = 0;                       ///< views are not
  std::map<std::string, size_t> ops_by_backend;  ///< of those
};

/// Errors: kInput (the model is refused), kDoesNotFit (the arena or the constants exceed the
/// board's memory; says by how much), kInternal (a pass left a broken graph: a bug of ours).
[[nodiscard]] Result<Conversion> Convert(const ConvertOptions& options);

/// The same from a graph that is already there; tests and generated models use it.
[[nodiscard]] Result<Conversion> ConvertGraph(Graph graph, const ConvertOptions& options);

/// Runs the model-level passes (everything before kernels are chosen).
[[nodiscard]] Status Canonicalise(Graph& graph, bool fuse, std::vector<PassReport>& reports);

}  // namespace tenon::converter
