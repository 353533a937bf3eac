#include "converter/import/import_graph.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <unordered_set>
#include <utility>

#include "converter/readable.hpp"

namespace tenon::converter {
namespace {

/// Tensors from which shapes are computed are small; a file that needs more than this is refused.
constexpr int64_t kLargestFolded = int64_t{256} << 20;

/// Returns the first tensor that `holds` is true of, among `id` and what it is computed from; kNone
/// if it is true of none.
template <typename Predicate>
TensorId FirstBehind(const Graph& graph, TensorId id, const Predicate& holds) {
  std::vector<TensorId> pending = {id};
  std::unordered_set<TensorId> seen = {id};
  while (!pending.empty()) {
    const TensorId next = pending.back();
    pending.pop_back();
    if (graph.tensor(next).IsConstant()) continue;
    if (holds(next)) return next;
    if (graph.IsInput(next)) continue;
    for (TensorId input : graph.op(graph.tensor(next).producer).inputs) {
      if (input != kNone && seen.insert(input).second) pending.push_back(input);
    }
  }
  return kNone;
}

/// Checks that everything from which `id` is computed can be computed now.
Status CheckFoldable(const Graph& graph, TensorId id) {
  const TensorId obstacle = FirstBehind(graph, id, [&](TensorId next) {
    return graph.IsInput(next) || graph.tensor(next).ByteSize() > kLargestFolded;
  });
  if (obstacle == kNone) return {};
  const Tensor& tensor = graph.tensor(obstacle);
  if (graph.IsInput(obstacle)) {
    return InputError(
        "'{}' must be known at conversion, but it depends on the input '{}' (a data-dependent "
        "shape); --freeze {}=FILE.npy makes that a constant",
        graph.tensor(id).name, tensor.name, tensor.name);
  }
  return InputError("'{}' must be known at conversion, but computing it takes {} bytes for '{}'",
                    graph.tensor(id).name, tensor.ByteSize(), tensor.name);
}

}  // namespace

Result<Shape> ShapeFromDims(const std::vector<int64_t>& dims) {
  if (dims.size() > kMaxRank) {
    return InputError("{} dimensions, at most {} are supported", dims.size(), kMaxRank);
  }
  Shape shape;
  shape.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] > std::numeric_limits<int32_t>::max()) {
      return InputError("dimension {} is {}, out of range", i, dims[i]);
    }
    shape.dims[i] = static_cast<int32_t>(dims[i]);
  }
  if (!shape.IsValid()) return InputError("2^31 elements or more");
  return shape;
}

Status FoldValue(Graph& graph, TensorId id, const ConstantFolder& fold) {
  if (graph.tensor(id).IsConstant()) return {};
  TENON_RETURN_IF_ERROR(CheckFoldable(graph, id));
  if (!fold) {
    return InternalError("'{}' needs folding, and there is no folder", graph.tensor(id).name);
  }
  TENON_RETURN_IF_ERROR(fold(graph, {id}));
  if (!graph.tensor(id).IsConstant()) {
    return InternalError("folding left '{}' without a value", graph.tensor(id).name);
  }
  return {};
}

void AddWarning(const ImportOptions& options, std::string warning) {
  constexpr size_t kMost = 16;
  if (options.warnings == nullptr || options.warnings->size() > kMost) return;
  const bool is_last = options.warnings->size() == kMost;
  options.warnings->push_back(is_last ? "there are more, which are not listed"
                                      : std::move(warning));
}

std::string WhyBothBranches(const Graph& graph, TensorId condition) {
  std::string text = "both branches are in the plan, and its condition chooses in every run";
  const TensorId input =
      FirstBehind(graph, condition, [&](TensorId next) { return graph.IsInput(next); });
  if (input == kNone) return text;
  const std::string& name = graph.tensor(input).name;
  return fmt::format(
      "{}; where the input '{}' never changes, --freeze {}=FILE.npy leaves the branch that it "
      "takes",
      text, name, name);
}

void FoldCounters(Graph& graph, const std::vector<TensorId>& ids, const ConstantFolder& fold) {
  constexpr int64_t kMostBytes = 64;
  std::vector<TensorId> counters;
  for (const TensorId id : ids) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.IsConstant() || IsFloat(tensor.dtype) || tensor.ByteSize() > kMostBytes) continue;
    if (CheckFoldable(graph, id).ok()) counters.push_back(id);
  }
  if (fold && !counters.empty()) (void)fold(graph, counters);  // one that stays is computed later
}

void EraseUnread(Graph& graph) {
  std::vector<OpId> order = graph.OpOrder();
  std::reverse(order.begin(), order.end());
  for (OpId id : order) {
    const std::vector<TensorId>& outputs = graph.op(id).outputs;
    const bool read = std::any_of(outputs.begin(), outputs.end(),
                                  [&](TensorId output) { return graph.IsRead(output); });
    if (!read) graph.EraseOp(id);
  }
  for (TensorId id : graph.Tensors()) {
    if (graph.tensor(id).IsConstant() && !graph.IsRead(id)) graph.EraseTensor(id);
  }
}

Result<std::string> ReadModelBytes(const std::filesystem::path& path, uintmax_t most,
                                   const char* too_large) {
  std::error_code error;
  if (const auto reason = WhyUnreadable(path)) return InputError("{}", *reason);
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return InputError("{}: {}", path.string(), error.message());
  if (size == 0) return InputError("{}: the file is empty", path.string());
  if (size > most) return InputError("{}: {}", path.string(), too_large);
  std::ifstream stream(path, std::ios::binary);
  std::string content(static_cast<size_t>(size), '\0');
  if (!stream.read(content.data(), static_cast<std::streamsize>(size))) {
    return InputError("{}: cannot be read", path.string());
  }
  return content;
}

int64_t DiskBytes(const std::filesystem::path& path) {
  constexpr int64_t kBlock = 512;  // what st_blocks counts, whatever the file system
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return 0;
  return std::min(int64_t{info.st_size}, int64_t{info.st_blocks} * kBlock);
}

int64_t ConstantLimit(const ImportOptions& options, int64_t model_bytes) {
  constexpr int64_t kFloor = int64_t{256} << 20;
  constexpr int64_t kTimesModel = 16;
  return options.max_memory > 0 ? options.max_memory : kFloor + kTimesModel * model_bytes;
}

}  // namespace tenon::converter
