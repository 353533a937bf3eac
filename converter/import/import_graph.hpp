// Functions that importers of all file formats share: reading the file, and filling the graph.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "converter/import/import_options.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

// Reads a model file.

/// Returns the whole file. Errors (kInput), with the path: the file does not exist, is no regular
/// file, is empty, has more than `most` bytes (`too_large` says why that is too many), or cannot be
/// read.
[[nodiscard]] Result<std::string> ReadModelBytes(const std::filesystem::path& path, uintmax_t most,
                                                 const char* too_large);

/// Returns what a file takes on its disk, at most its size: a sparse file costs its author nothing.
/// 0 if there is none.
[[nodiscard]] int64_t DiskBytes(const std::filesystem::path& path);

/// Returns what constants may take in all (Graph::constant_limit) for a model whose files take
/// `model_bytes` on the disk: `--max-memory`, or 256 MiB and 16 times as much as the files.
[[nodiscard]] int64_t ConstantLimit(const ImportOptions& options, int64_t model_bytes);

/// Tells the user something of a model that can be imported; of one that says much, the beginning.
void AddWarning(const ImportOptions& options, std::string warning);

// Changes of the graph that importers of all file formats make.

/// Makes a shape. Errors unless it has at most kMaxRank dimensions, each >= 0, and fewer than 2^31
/// elements.
[[nodiscard]] Result<Shape> ShapeFromDims(const std::vector<int64_t>& dims);

/// A place below every one that there is, whatever parts are added to it: a gather or a scatter at
/// it reports an index out of range when it runs.
inline constexpr double kNowhere = -1099511627776.0;  // -2^40

/// Makes a tensor constant, or reports on which graph input it depends.
[[nodiscard]] Status FoldValue(Graph& graph, TensorId id, const ConstantFolder& fold);

/// Says, for a warning, that a node computes both of its branches, and which input would have to be
/// constant for one of them to do.
[[nodiscard]] std::string WhyBothBranches(const Graph& graph, TensorId condition);

/// Makes constants of those integers among `ids` that depend on no input, where that can be done: a
/// loop counts with them, and its condition would compute every round before anew.
void FoldCounters(Graph& graph, const std::vector<TensorId>& ids, const ConstantFolder& fold);

/// Drops ops and constants that nothing reads (what was folded, operands that gave a shape, ...).
void EraseUnread(Graph& graph);

}  // namespace tenon::converter
