// The conversion: model file to plan, with every decision on record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/memory/arena_plan.hpp"
#include "converter/order/memory_order.hpp"
#include "converter/passes/pass.hpp"

namespace tenon::converter {

enum class OrderMode {
  kSource,  ///< as the model has it
  kSearch,  ///< the smallest arena that can be found, by any order
};

struct ConvertOptions {
  std::filesystem::path model;
  Board board;
  ImportOptions import;
  bool fuse = true;
  int64_t place_budget = PlaceOptions{}.work_budget;  ///< work units of the placer, see there
  OrderMode order = OrderMode::kSearch;
  int64_t order_budget = MemoryOrderOptions{}.work_budget;  ///< downsets expanded, see there
  uint64_t seed = 1;
  /// What the user asked for, recorded in the plan.
  std::vector<std::pair<std::string, std::string>> recorded;
  /// Told when a phase begins: its name and its place among all. May be empty.
  std::function<void(const std::string& phase, int index, int count)> progress;
};

struct MemoryReport {
  std::string space;
  int64_t arena_bytes = 0;
  int64_t lower_bound = 0;
  bool proven_optimal = false;
  int64_t constants_bytes = 0;
  int64_t place_work = 0;
  int64_t source_order_bytes = 0;  ///< the arena that the model's own order would need
};

struct OrderReport {
  OrderMode mode = OrderMode::kSource;
  uint64_t seed = 0;
  MemoryOrder search;    ///< in live bytes; empty for kSource
  bool changed = false;  ///< the plan's order is not the model's
};

struct Conversion {
  std::vector<uint8_t> plan;
  std::string graph_text;  ///< the final graph, for -v
  std::vector<PassReport> passes;
  std::vector<MappedOp> mapping;
  MemoryReport memory;
  OrderReport order;
  size_t ops_imported = 0;
  size_t ops_executed = 0;
};

/// Errors: kInput (the model is refused), kDoesNotFit (the arena or the constants exceed the
/// board's memory; says by how much), kInternal (a pass left a broken graph: a bug of ours).
[[nodiscard]] Result<Conversion> Convert(const ConvertOptions& options);

/// The same from a graph that is already there; tests and generated models use it.
[[nodiscard]] Result<Conversion> ConvertGraph(Graph graph, const ConvertOptions& options);

/// Runs the model-level passes (everything before kernels are chosen).
[[nodiscard]] Status Canonicalise(Graph& graph, bool fuse, std::vector<PassReport>& reports);

}  // namespace tenon::converter
