// Computes the sizes and costs of all ways to cut one op into a grid of parts. Nothing is built
// until the cheapest grid that fits is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/split/part_of_op.hpp"
#include "converter/split/working_set.hpp"

namespace tenon::converter {

/// Numbers of parts, one per axis of a grid; 1: not cut.
using GridParts = std::vector<int32_t>;

/// One dimension of a grid.
struct GridAxis {
  std::string_view dimension;  ///< as in SplitRecord
  bool accumulates = false;    ///< input channels: parts make sums, not pieces
  int32_t axis = 0;            ///< of the output; none if `accumulates`
  int32_t extent = 0;
  int32_t granularity = 1;  ///< of boundaries; includes the board's requirements

  /// A number of parts and the resulting extents of each operand, output last: of the longest
  /// piece, and of all pieces together, which overlap where windows do. -1: not cut.
  struct Option {
    int32_t parts = 1;
    std::vector<int32_t> longest;
    std::vector<int64_t> together;
  };
  std::vector<int32_t> operand_axes;  ///< cut of each operand, output last; -1: none
  std::vector<Option> options;        ///< sorted by parts, ascending, from 1

  [[nodiscard]] std::vector<IndexRange> Ranges(int32_t parts) const {
    return EqualRanges(extent, granularity, parts);
  }
};

class WorkingSetGrid {
 public:
  /// `op` must have a working set (HasWorkingSet).
  WorkingSetGrid(const Graph& graph, const Op& op, const WorkingSetLimit& limit);

  /// Returns the axes in the order in which they are tried.
  [[nodiscard]] const std::vector<GridAxis>& axes() const { return axes_; }

  /// Returns parts per axis so that the largest part's working set is at most `bytes`; none if no
  /// such grid is within the board's number of parts.
  ///
  /// Chooses the first single dimension that suffices, in as few parts as possible, unless some
  /// grid has two thirds of its price or less; the batch is chosen at any price. Where no single
  /// dimension is chosen, takes the cheapest grid, with sums over input channels cut only where
  /// that saves a quarter.
  [[nodiscard]] std::optional<GridParts> Find(int64_t bytes) const;

  /// Returns the working set of the largest part. Every number of `parts` must be one of the
  /// options.
  [[nodiscard]] int64_t Bytes(const GridParts& parts) const;

  /// Estimates the cost of all parts together, in bytes moved: every part reads and writes its
  /// operands, the next part reads sums again, and every start takes a fixed time.
  [[nodiscard]] int64_t Price(const GridParts& parts) const;

  /// Returns the smallest `bytes` for which Find finds a grid.
  [[nodiscard]] int64_t Smallest() const;

 private:
  struct Operand {
    Shape shape;
    int64_t element_bytes = 0;
    bool counts = false;
    bool added_once = false;  ///< bias or residual: only the first of accumulating parts reads it
  };
  /// Indices into the axes' options.
  using Choice = std::vector<size_t>;

  void AddOperands(const Graph& graph, const Op& op, bool counts_constants);
  void AddAxis(const Graph& graph, const Op& op, SplitDimension dimension);
  void AddInputChannels(const Graph& graph, const Op& op);
  void AddOptions(GridAxis& axis, const std::vector<InputSplit>& splits, int32_t smallest_length);
  [[nodiscard]] int64_t BytesOf(const Choice& choice) const;
  [[nodiscard]] int64_t OperandBytes(size_t operand, const Choice& choice) const;
  [[nodiscard]] int64_t TrafficOf(size_t operand, const Choice& choice) const;
  [[nodiscard]] int64_t PriceOf(const Choice& choice) const;
  [[nodiscard]] bool Accumulates(const Choice& choice) const;
  [[nodiscard]] std::optional<Choice> FindCheapest(int64_t bytes) const;
  [[nodiscard]] std::optional<Choice> FindAlong(size_t axis, int64_t bytes) const;
  template <typename Visit>
  void ForEachChoice(const Visit& visit) const;
  [[nodiscard]] Choice ChoiceOf(const GridParts& parts) const;
  [[nodiscard]] GridParts PartsOf(const Choice& choice) const;

  SplittingLimits splitting_;
  std::vector<Operand> operands_;  ///< output last
  std::vector<GridAxis> axes_;
  int64_t workspace_ = 0;
  bool adds_apart_ = false;
};

}  // namespace tenon::converter
