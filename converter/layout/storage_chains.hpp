// Builds the storages of an arena plan. Those that take over each other's bytes, one after the
// other, form a chain, which gets one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "converter/layout/arena_plan.hpp"
#include "converter/layout/following.hpp"
#include "converter/layout/storage_parts.hpp"

namespace tenon::converter {

inline constexpr size_t kNoStorage = SIZE_MAX;

class StorageChains {
 public:
  /// Adds to `plan`, whose steps the caller sets.
  StorageChains(const Graph& graph, const Locations& locations, ArenaPlan& plan,
                PlacementMemo* memo = nullptr);

  /// Makes the groups those of the plan, whose steps are set. Members share their lifetimes, and
  /// take over no bytes.
  void SetGroups(const std::vector<std::vector<OpId>>& groups);
  /// The first and the last step of the group that the op at `step` starts with; itself without
  /// one.
  [[nodiscard]] std::pair<int64_t, int64_t> SpanOf(int64_t step) const {
    return spans_.empty() ? std::pair(step, step) : spans_[static_cast<size_t>(step)];
  }

  /// Adds a storage as a chain of its own. Returns its index in ArenaPlan::storages.
  size_t Add(PlannedStorage storage);
  /// Adds the storage of a tensor that owns its bytes; no step uses it yet.
  size_t AddRoot(TensorId root);
  /// Adds the workspace of the op at `step`; returns kNoStorage if it needs none.
  size_t AddWorkspace(int64_t step);
  /// Makes the storage live at `step` too.
  void Touch(size_t storage, int64_t step);

  /// Lets the output of the op at `step` take over the first input that dies there and may be taken
  /// over. `storage_of` returns kNoStorage for tensors that do not take part. `may` says whether a
  /// storage may pass its bytes to another; null: always.
  void HandOver(int64_t step, const std::function<size_t(TensorId tensor)>& storage_of,
                const std::function<bool(size_t from, size_t to)>& may = nullptr);

  /// Says which bytes of storages are alive when; without it, they are alive whole.
  void SetParts(std::vector<std::vector<StoragePart>> parts) { parts_ = std::move(parts); }

  /// Sets the offsets of these storages, which must be whole chains. Those of `following`,
  /// which Useful has returned, lie on each other at the start of the arena.
  Placement Place(const std::vector<size_t>& storages, const PlaceOptions& options,
                  const std::vector<Following>& following = {});
  /// Returns those of `pairs` that lower the peak of live bytes and may be given to Place together.
  [[nodiscard]] std::vector<Following> Useful(const std::vector<size_t>& storages,
                                              const std::vector<Following>& pairs) const;

 private:
  /// What is placed as one: a chain, and of two storages that lie on each other also the time when
  /// both are alive.
  struct Blocks {
    std::vector<Buffer> buffers;
    std::vector<size_t> of_chain;  ///< by the first storage of a chain
  };
  [[nodiscard]] Blocks BlocksOf(const std::vector<size_t>& storages,
                                const std::vector<Following>& following) const;
  [[nodiscard]] bool ReplaceByBands(const std::vector<Following>& pairs, Blocks& blocks) const;
  [[nodiscard]] bool MayFollow(const Following& pair) const;

  const Graph& graph_;
  const Locations& locations_;
  ArenaPlan& plan_;
  PlacementMemo* memo_;                             ///< may be null
  std::vector<size_t> first_of_chain_;              ///< by storage
  std::vector<std::pair<int64_t, int64_t>> spans_;  ///< by step; empty: no groups
  std::vector<std::vector<StoragePart>> parts_;     ///< by storage
};

}  // namespace tenon::converter
