#include "converter/schedule/segment_arena.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "converter/layout/storage_chains.hpp"
#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kNoUser = SIZE_MAX;

/// The segments and steps that touch a root.
struct Touch {
  size_t segment = kNoUser;  ///< the only one, or kNoUser where `crosses`
  bool crosses = false;      ///< several segments, or the caller, touch it
  bool from_start = false;   ///< an input lies there
  bool to_end = false;       ///< an output lies there
  int64_t first_step = INT64_MAX;
  int64_t last_step = -1;
  std::vector<int32_t> readers;  ///< steps, maybe several times
  std::vector<int32_t> writers;
};

/// The storages of a segment's block; offsets are within the block.
struct Block {
  std::vector<size_t> storages;  ///< indices into ArenaPlan::storages
  int64_t bytes = 0;
  int64_t lower_bound = 0;
};

class SegmentPlacer {
 public:
  SegmentPlacer(const Graph& graph, const Locations& locations,
                const std::vector<TimedSegment>& segments, const ArenaOptions& options)
      : graph_(graph),
        locations_(locations),
        segments_(segments),
        options_(options),
        chains_(graph, locations, result_.plan) {}

  SegmentArena Run(int64_t limit) {
    NumberSteps();
    FindTouches();
    blocks_.resize(segments_.size());
    for (size_t s = 0; s < segments_.size(); ++s) PlaceInside(s);
    AddCrossing();
    PlaceAll(/*by_time=*/true);
    if (plan().bytes > limit) PlaceAll(/*by_time=*/false);
    return std::move(result_);
  }

 private:
  ArenaPlan& plan() { return result_.plan; }

  void NumberSteps() {
    for (const TimedSegment& segment : segments_) {
      first_step_.push_back(static_cast<int32_t>(plan().steps.size()));
      plan().steps.insert(plan().steps.end(), segment.ops.begin(), segment.ops.end());
    }
    chains_.SetGroups(options_.groups);
    end_ = static_cast<int32_t>(plan().steps.size());
  }

  [[nodiscard]] int32_t LastStep(size_t s) const {
    return (s + 1 < first_step_.size() ? first_step_[s + 1] : end_) - 1;
  }

  void FindTouches() {
    for (size_t s = 0; s < segments_.size(); ++s) {
      int32_t step = first_step_[s];
      for (const OpId id : segments_[s].ops) {
        const Op& op = graph_.op(id);
        for (const TensorId input : op.inputs) {
          if (Touch* touch = TouchBy(input, s, step)) touch->readers.push_back(step);
        }
        for (const TensorId output : op.outputs) {
          if (Touch* touch = TouchBy(output, s, step)) touch->writers.push_back(step);
        }
        ++step;
      }
    }
    for (const bool output : {false, true}) {
      for (const Graph::Port& port : output ? graph_.outputs() : graph_.inputs()) {
        const TensorId root = locations_.at(port.tensor).root;
        if (graph_.tensor(root).IsConstant()) continue;
        Touch& touch = touches_[root];
        touch.crosses = true;
        (output ? touch.to_end : touch.from_start) = true;
      }
    }
  }

  /// Null for constants and absent operands.
  Touch* TouchBy(TensorId id, size_t segment, int64_t step) {
    if (id == kNone) return nullptr;
    const TensorId root = locations_.at(id).root;
    if (graph_.tensor(root).IsConstant()) return nullptr;
    Touch& touch = touches_[root];
    if (touch.segment == kNoUser) touch.segment = segment;
    touch.crosses = touch.crosses || touch.segment != segment;
    const auto [first, last] = chains_.SpanOf(step);
    touch.first_step = std::min(touch.first_step, first);
    touch.last_step = std::max(touch.last_step, last);
    return &touch;
  }

  size_t AddStorage(TensorId root, int64_t bytes, int64_t first_step, int64_t last_step) {
    PlannedStorage storage;
    storage.root = root;
    storage.bytes = bytes;
    storage.first_step = first_step;
    storage.last_step = last_step;
    return chains_.Add(std::move(storage));
  }

  // --- inside one segment -------------------------------------------------------------------

  void PlaceInside(size_t s) {
    Block& block = blocks_[s];
    std::map<TensorId, size_t> storage_of_root;
    for (const OpId id : segments_[s].ops) {
      for (const TensorId output : graph_.op(id).outputs) {
        const TensorId root = locations_.at(output).root;
        const Touch& touch = touches_.at(root);
        if (touch.crosses || storage_of_root.contains(root)) continue;
        storage_of_root[root] =
            AddStorage(root, graph_.tensor(root).ByteSize(), touch.first_step, touch.last_step);
        plan().storages.back().on_chip = segments_[s].keeps_own;
        if (!segments_[s].keeps_own) block.storages.push_back(storage_of_root[root]);
      }
    }
    if (options_.in_place && !segments_[s].keeps_own) {
      const auto storage_of = [&](TensorId id) {
        const auto found = storage_of_root.find(locations_.at(id).root);
        return found == storage_of_root.end() ? kNoStorage : found->second;
      };
      for (int64_t step = first_step_[s]; step <= LastStep(s); ++step) {
        chains_.HandOver(step, storage_of);
      }
    }
    AddWorkspaces(s, block);
    const Placement placement = chains_.Place(block.storages, options_.place);
    block.bytes = PaddedBytes(placement.peak);
    block.lower_bound = placement.lower_bound;
  }

  void AddWorkspaces(size_t s, Block& block) {
    int64_t step = first_step_[s];
    int64_t fallback_bytes = 0;
    std::vector<OpId> fallback_of;
    for (const OpId id : segments_[s].ops) {
      const Op& op = graph_.op(id);
      const size_t workspace = chains_.AddWorkspace(step);
      if (workspace != kNoStorage) block.storages.push_back(workspace);
      if (op.fallback_workspace_bytes > 0) fallback_of.push_back(id);
      fallback_bytes = std::max(fallback_bytes, op.fallback_workspace_bytes);
      ++step;
    }
    if (fallback_of.empty()) return;
    block.storages.push_back(AddStorage(kNone, fallback_bytes, first_step_[s], LastStep(s)));
    plan().storages.back().fallback_of = std::move(fallback_of);
  }

  // --- across segments ----------------------------------------------------------------------

  void AddCrossing() {
    for (const auto& [root, touch] : touches_) {
      if (!touch.crosses) continue;
      const bool untouched = touch.last_step < 0;
      const int64_t last =
          touch.to_end ? std::max(end_ - 1, 0) : std::max<int64_t>(touch.last_step, 0);
      crossing_.push_back(AddStorage(root, graph_.tensor(root).ByteSize(),
                                     touch.from_start || untouched ? 0 : touch.first_step, last));
    }
  }

  [[nodiscard]] size_t SegmentOf(int64_t step) const {
    const auto after =
        std::upper_bound(first_step_.begin(), first_step_.end(), static_cast<int32_t>(step));
    return static_cast<size_t>(after - first_step_.begin()) - 1;
  }

  [[nodiscard]] Picoseconds StartOf(size_t s, bool by_time) const {
    return by_time ? segments_[s].start : static_cast<Picoseconds>(s);
  }
  [[nodiscard]] Picoseconds EndOf(size_t s, bool by_time) const {
    return by_time ? segments_[s].end : static_cast<Picoseconds>(s) + 1;
  }

  /// Stays alive until the end of every segment that touches it, since a segment that fails may
  /// have to run again.
  UsedBytes CrossingUse(const PlannedStorage& storage, bool by_time) const {
    const Touch& touch = touches_.at(storage.root);
    UsedBytes use;
    use.bytes = storage.bytes;
    const bool untouched = touch.last_step < 0;
    Picoseconds all = 1;
    for (size_t s = 0; s < segments_.size(); ++s) all = std::max(all, EndOf(s, by_time));
    use.start = touch.from_start || untouched ? 0 : all;
    use.end = touch.to_end ? all : 1;
    const auto add = [&](int32_t step, std::vector<int32_t>& steps, bool at_start) {
      const size_t s = SegmentOf(step);
      use.start = std::min(use.start, StartOf(s, by_time));
      use.end = std::max(use.end, EndOf(s, by_time));
      steps.push_back(at_start ? first_step_[s] : LastStep(s));
    };
    for (const int32_t step : touch.readers) add(step, use.users, false);
    for (const int32_t step : touch.writers) {
      add(step, use.users, false);
      add(step, use.writers, true);
    }
    SortAndUnique(use.users);
    SortAndUnique(use.writers);
    return use;
  }

  UsedBytes BlockUse(size_t s, bool by_time) const {
    UsedBytes use;
    use.bytes = blocks_[s].bytes;
    use.start = StartOf(s, by_time);
    use.end = EndOf(s, by_time);
    use.writers = {first_step_[s]};
    use.users = {LastStep(s)};
    return use;
  }

  void PlaceAll(bool by_time) {
    result_.uses.clear();
    for (const size_t index : crossing_) {
      result_.uses.push_back(CrossingUse(plan().storages[index], by_time));
    }
    for (size_t s = 0; s < blocks_.size(); ++s) result_.uses.push_back(BlockUse(s, by_time));
    std::vector<Buffer> buffers;
    for (const UsedBytes& use : result_.uses) {
      buffers.push_back({use.start, std::max(use.end, use.start + 1), use.bytes, kStorageAlignment,
                         std::nullopt});
    }
    const Placement placement = PlaceBuffers(buffers, options_.place);
    for (size_t i = 0; i < buffers.size(); ++i) result_.uses[i].offset = placement.offsets[i];
    for (size_t i = 0; i < crossing_.size(); ++i) {
      plan().storages[crossing_[i]].offset = placement.offsets[i];
    }
    for (size_t s = 0; s < blocks_.size(); ++s) {
      const int64_t offset = placement.offsets[crossing_.size() + s];
      for (const size_t index : blocks_[s].storages) {
        plan().storages[index].offset += offset - block_offset_[s];
      }
      block_offset_[s] = offset;
      buffers[crossing_.size() + s].size = blocks_[s].lower_bound;
    }
    plan().bytes = placement.peak;
    plan().lower_bound = LowerBound(buffers);
    plan().proven_optimal = plan().bytes == plan().lower_bound;
    plan().place_work += placement.work;
  }

  const Graph& graph_;
  const Locations& locations_;
  const std::vector<TimedSegment>& segments_;
  const ArenaOptions& options_;
  SegmentArena result_;
  StorageChains chains_;
  std::vector<int32_t> first_step_;  ///< by segment
  int32_t end_ = 0;
  std::map<TensorId, Touch> touches_;  ///< by root
  std::vector<Block> blocks_;          ///< by segment
  std::vector<int64_t> block_offset_ = std::vector<int64_t>(segments_.size(), 0);
  std::vector<size_t> crossing_;  ///< storages outside of blocks
};

}  // namespace

SegmentArena PlaceSegments(const Graph& graph, const Locations& locations,
                           const std::vector<TimedSegment>& segments, int64_t limit,
                           const ArenaOptions& options) {
  return SegmentPlacer(graph, locations, segments, options).Run(limit);
}

}  // namespace tenon::converter
