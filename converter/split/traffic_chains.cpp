#include "converter/split/traffic_chains.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "converter/solve/sort_and_unique.hpp"
#include "converter/split/patch_profile.hpp"
#include "converter/split/patch_ranges.hpp"
#include "converter/split/patch_rewrite.hpp"

namespace tenon::converter {
namespace {

/// A chain that may be cut, and what that moves.
struct CutChain {
  Chain chain;
  Patching patching;
  PatchEstimate estimate;
};

class TrafficPlanner {
 public:
  TrafficPlanner(const Graph& graph, const TrafficOptions& options)
      : graph_(graph), options_(options), order_(graph), profile_(graph, order_) {
    FindStaying();
  }

  /// Dynamic programming over positions of the order.
  std::vector<CutChain> Run() {
    const auto count = static_cast<int64_t>(order_.ops.size());
    std::vector<double> least(static_cast<size_t>(count) + 1, 1e300);
    std::vector<int64_t> from(least.size(), 0);
    std::vector<std::optional<Patching>> how(least.size());
    least[0] = 0;
    for (int64_t first = 0; first < count; ++first) {
      const double before = least[static_cast<size_t>(first)];
      const auto offer = [&](int64_t end, double cost, std::optional<Patching> patching) {
        const auto e = static_cast<size_t>(end);
        if (before + cost >= least[e]) return;
        least[e] = before + cost;
        from[e] = first;
        how[e] = patching;
      };
      offer(first + 1, Moved(first, first + 1), std::nullopt);
      ChainBuilder builder(graph_, order_, first, SplitDimension::kHeight);
      while (static_cast<int64_t>(builder.chain().ops.size()) < options_.longest && builder.Add()) {
        const Chain& chain = builder.chain();
        if (chain.ops.size() < 2) continue;
        const std::optional<Patching> patching = FewestPatches(chain);
        if (!patching) continue;
        const bool whole = patching->parts == 1;
        offer(chain.end(), Moved(first, chain.end()) + (whole ? 0 : CostOf(chain, *patching)),
              whole ? std::nullopt : patching);
      }
    }
    std::vector<CutChain> chains;
    for (int64_t end = count; end > 0; end = from[static_cast<size_t>(end)]) {
      const std::optional<Patching>& patching = how[static_cast<size_t>(end)];
      if (patching) chains.push_back(Collect(from[static_cast<size_t>(end)], end, *patching));
    }
    std::reverse(chains.begin(), chains.end());
    return chains;
  }

  [[nodiscard]] const LiveProfile& profile() const { return profile_; }

 private:
  /// Finds what stays in fast memory from its producer to its last reader because everything that
  /// is alive in between has space there.
  void FindStaying() {
    stays_.assign(order_.last_use.size(), false);
    const auto count = static_cast<int64_t>(order_.ops.size());
    for (int64_t position = 0; position < count; ++position) {
      for (const TensorId id : graph_.op(order_.ops[static_cast<size_t>(position)]).outputs) {
        const int64_t last = std::min(order_.last_use[static_cast<size_t>(id)], count - 1);
        int64_t most = 0;
        for (int64_t p = position; p <= last && most <= options_.fast_bytes; ++p) {
          most = std::max(most, profile_.at_step[static_cast<size_t>(p)]);
        }
        stays_[static_cast<size_t>(id)] = most <= options_.fast_bytes;
      }
    }
  }

  [[nodiscard]] OpId OpAt(int64_t position) const {
    return order_.ops[static_cast<size_t>(position)];
  }

  /// Returns the bytes that cross the ends of a stretch by way of slow memory.
  [[nodiscard]] double Moved(int64_t first, int64_t end) const {
    std::vector<TensorId> made;
    std::vector<TensorId> read;
    for (int64_t position = first; position < end; ++position) {
      const Op& op = graph_.op(OpAt(position));
      if (order_.ViewInputs(graph_, op) != 0 && end - first == 1) return 0;
      made.insert(made.end(), op.outputs.begin(), op.outputs.end());
      for (const TensorId input : op.inputs) {
        if (input != kNone && !graph_.tensor(input).IsConstant()) read.push_back(input);
      }
    }
    SortAndUnique(read);
    double bytes = 0;
    for (const TensorId id : read) {
      const bool inside = std::find(made.begin(), made.end(), id) != made.end();
      if (!inside && !stays_[static_cast<size_t>(id)]) bytes += Bytes(id);
    }
    for (const TensorId id : made) {
      const bool leaves = order_.last_use[static_cast<size_t>(id)] >= end;
      if (leaves && !stays_[static_cast<size_t>(id)]) bytes += Bytes(id);
    }
    return bytes;
  }

  [[nodiscard]] double Bytes(TensorId id) const {
    return static_cast<double>(graph_.tensor(id).ByteSize());
  }

  [[nodiscard]] int64_t ConstantBytes(const Chain& chain) const {
    std::vector<TensorId> constants;
    for (const ChainOp& op : chain.ops) {
      for (const TensorId input : graph_.op(op.id).inputs) {
        if (input != kNone && graph_.tensor(input).IsConstant()) constants.push_back(input);
      }
    }
    SortAndUnique(constants);
    int64_t bytes = 0;
    for (const TensorId id : constants) bytes += graph_.tensor(id).ByteSize();
    return bytes;
  }

  /// Returns the coarsest patches that have space in fast memory with the constants, one if the
  /// whole ops have; none if none have.
  [[nodiscard]] std::optional<Patching> FewestPatches(const Chain& chain) const {
    const int64_t space = options_.fast_bytes - ConstantBytes(chain);
    const int32_t rows = chain.tensors.back().rows;
    const int32_t most = std::min(options_.limits.most_parts,
                                  rows / std::max(1, options_.limits.smallest_part_rows));
    std::optional<Patching> best;
    if (const Patching whole = {1, PatchPolicy::kKeepRows}; PeakOf(chain, whole) <= space) {
      return whole;
    }
    double least = 1e300;
    for (const PatchPolicy policy : {PatchPolicy::kKeepRows, PatchPolicy::kRecompute}) {
      for (int32_t parts = 2; parts <= most; parts += std::max(1, parts / 4)) {
        const Patching patching = {parts, policy};
        if (PeakOf(chain, patching) > space) continue;
        const double cost = CostOf(chain, patching);
        if (cost < least) best = patching;
        least = std::min(least, cost);
        break;
      }
    }
    return best;
  }

  /// Returns the bytes of the chain's patches, and of rows kept for the next ones, that are alive
  /// at once. Unlike EstimatePatches, exits and what enters count patch by patch: the whole of them
  /// is in slow memory.
  [[nodiscard]] int64_t PeakOf(const Chain& chain, const Patching& patching) const {
    PatchRanges ranges(chain, patching);
    int64_t peak = 0;
    for (const int32_t part : {0, patching.parts / 2, patching.parts - 1}) {
      std::vector<PatchRows> rows;
      ranges.Rows(part, rows);
      int64_t live = 0;
      std::vector<int64_t> bytes(rows.size());
      for (size_t t = 0; t < rows.size(); ++t) {
        bytes[t] = chain.tensors[t].row_bytes * rows[t].All().size();
        live += chain.tensors[t].row_bytes * rows[t].FromLast().size();
      }
      for (size_t k = 0; k < chain.ops.size(); ++k) {
        const ChainOp& op = chain.ops[k];
        const auto out = static_cast<size_t>(op.output);
        live += bytes[out];
        peak = std::max(peak, live + EnteringBytes(op, rows[out]));
        std::vector<int32_t> ended = {op.output};
        for (const ChainInput& input : op.inputs) ended.push_back(input.tensor);
        SortAndUnique(ended);
        for (const int32_t t : ended) {
          if (t < 0) continue;
          const ChainTensor& tensor = chain.tensors[static_cast<size_t>(t)];
          const int32_t last = tensor.readers.empty() ? tensor.producer : tensor.readers.back();
          if (last == static_cast<int32_t>(k)) live -= bytes[static_cast<size_t>(t)];
        }
      }
    }
    return peak;
  }

  /// Returns the bytes of windows that the op reads from outside the chain.
  [[nodiscard]] int64_t EnteringBytes(const ChainOp& op, const PatchRows& rows) const {
    int64_t bytes = 0;
    const std::vector<TensorId>& inputs = graph_.op(op.id).inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].tensor >= 0 || inputs[i] == kNone || graph_.tensor(inputs[i]).IsConstant()) {
        continue;
      }
      const Tensor& tensor = graph_.tensor(inputs[i]);
      const int32_t axis = op.inputs[i].need.axis;
      if (axis < 0) {
        bytes += tensor.ByteSize();
        continue;
      }
      const int32_t extent = std::max(tensor.shape[axis], 1);
      bytes +=
          tensor.ByteSize() / extent * InputRange(op.inputs[i].need, rows.New(), extent).size();
    }
    return bytes;
  }

  [[nodiscard]] double CostOf(const Chain& chain, const Patching& patching) const {
    const PatchEstimate estimate = EstimatePatches(chain, patching);
    const auto more = static_cast<double>(estimate.ops) - static_cast<double>(chain.ops.size());
    return options_.bytes_per_op * more +
           options_.bytes_per_work * static_cast<double>(estimate.recomputed_work) +
           options_.bytes_per_copied * static_cast<double>(estimate.copied_bytes);
  }

  [[nodiscard]] CutChain Collect(int64_t first, int64_t end, const Patching& patching) const {
    ChainBuilder builder(graph_, order_, first, SplitDimension::kHeight);
    while (builder.chain().end() < end && builder.Add()) {
    }
    CutChain cut{builder.chain(), patching, {}};
    cut.estimate = EstimatePatches(cut.chain, patching);
    return cut;
  }

  const Graph& graph_;
  const TrafficOptions& options_;
  const GraphOrder order_;
  const LiveProfile profile_;
  std::vector<bool> stays_;  ///< by TensorId
};

}  // namespace

Result<MemorySplit> CutForTraffic(Graph& graph, const TrafficOptions& options) {
  MemorySplit result;
  result.target_bytes = options.fast_bytes;
  TrafficPlanner planner(graph, options);
  result.unsplit_peak = result.estimated_peak = planner.profile().peak;
  const std::vector<CutChain> chains = planner.Run();
  std::vector<ChainCut> cuts;
  for (const CutChain& cut : chains) {
    SplitChain entry;
    entry.first_op = graph.op(cut.chain.ops.front().id).name;
    entry.last_op = graph.op(cut.chain.ops.back().id).name;
    entry.ops = static_cast<int64_t>(cut.chain.ops.size());
    entry.dimension = cut.chain.dimension;
    entry.patching = cut.patching;
    for (int64_t position = cut.chain.first; position < cut.chain.end(); ++position) {
      entry.peak_before =
          std::max(entry.peak_before, planner.profile().at_step[static_cast<size_t>(position)]);
    }
    entry.peak_after = cut.estimate.peak;
    entry.copied_bytes = cut.estimate.copied_bytes;
    entry.recomputed_work = cut.estimate.recomputed_work;
    entry.reason = fmt::format("what passes between its ops stays in {} bytes of fast memory",
                               options.fast_bytes);
    result.chains.push_back(std::move(entry));
    cuts.push_back({&cut.chain, cut.patching});
  }
  result.fits = true;
  TENON_RETURN_IF_ERROR(CutIntoPatches(graph, cuts));
  if (!cuts.empty()) TENON_RETURN_IF_ERROR(Verify(graph));
  return result;
}

}  // namespace tenon::converter
