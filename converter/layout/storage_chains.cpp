#include "converter/layout/storage_chains.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tenon::converter {
namespace {

/// Adds what stands for a block whose bytes begin when they are written, or end when they are used
/// last. Returns false if some are done before others begin: what lies on both would not take turns
/// one way round.
bool AddBands(const std::vector<StoragePart>& parts, bool is_written, bool is_read,
              const Buffer& block, std::vector<Buffer>& bands) {
  int64_t last_begin = block.lower;
  int64_t first_end = block.upper;
  for (const StoragePart& part : parts) {
    const int64_t lower = is_written ? part.first_step : block.lower;
    const int64_t upper = is_read ? part.last_step + 1 : block.upper;
    last_begin = std::max(last_begin, lower);
    first_end = std::min(first_end, upper);
    const int64_t offset = *block.offset + part.begin;
    const bool continues =
        part.begin > 0 && bands.back().lower == lower && bands.back().upper == upper;
    if (continues) {
      bands.back().size += part.end - part.begin;
    } else {
      bands.push_back({lower, upper, part.end - part.begin, 1, offset});
    }
  }
  return last_begin < first_end;
}

}  // namespace

StorageChains::StorageChains(const Graph& graph, const Locations& locations, ArenaPlan& plan,
                             PlacementMemo* memo)
    : graph_(graph), locations_(locations), plan_(plan), memo_(memo) {
  OpId last = kNone;
  for (const OpId id : graph.OpOrder()) last = std::max(last, id);
  plan.in_place.assign(static_cast<size_t>(last + 1), -1);
}

void StorageChains::SetGroups(const std::vector<std::vector<OpId>>& groups) {
  plan_.groups = groups;
  if (groups.empty()) return;
  std::unordered_map<OpId, int64_t> step_of;
  for (const OpId id : plan_.steps) {
    const auto step = static_cast<int64_t>(spans_.size());
    step_of[id] = step;
    spans_.emplace_back(step, step);
  }
  for (const std::vector<OpId>& group : groups) {
    const int64_t first = step_of.at(group.front());
    const int64_t last = step_of.at(group.back());
    for (int64_t step = first; step <= last; ++step) {
      spans_[static_cast<size_t>(step)] = {first, last};
    }
  }
}

size_t StorageChains::Add(PlannedStorage storage) {
  const size_t index = plan_.storages.size();
  first_of_chain_.push_back(index);
  plan_.storages.push_back(std::move(storage));
  return index;
}

size_t StorageChains::AddRoot(TensorId root) {
  PlannedStorage storage;
  storage.root = root;
  storage.bytes = graph_.tensor(root).ByteSize();
  storage.first_step = INT64_MAX;
  storage.last_step = -1;
  return Add(std::move(storage));
}

size_t StorageChains::AddWorkspace(int64_t step) {
  const OpId id = plan_.steps[static_cast<size_t>(step)];
  PlannedStorage storage;
  storage.workspace_of = id;
  storage.bytes = graph_.op(id).workspace_bytes;
  std::tie(storage.first_step, storage.last_step) = SpanOf(step);
  return storage.bytes > 0 ? Add(std::move(storage)) : kNoStorage;
}

void StorageChains::Touch(size_t storage, int64_t step) {
  PlannedStorage& planned = plan_.storages[storage];
  const auto [first, last] = SpanOf(step);
  planned.first_step = std::min(planned.first_step, first);
  planned.last_step = std::max(planned.last_step, last);
}

void StorageChains::HandOver(int64_t step, const std::function<size_t(TensorId tensor)>& storage_of,
                             const std::function<bool(size_t from, size_t to)>& may) {
  const OpId id = plan_.steps[static_cast<size_t>(step)];
  const auto [first, last] = SpanOf(step);
  if (first != last) return;
  const Op& op = graph_.op(id);
  for (const size_t input : HandOverInputs(graph_, locations_, op)) {
    const size_t from = storage_of(op.inputs[input]);
    const size_t to = storage_of(op.outputs[0]);
    if (from == kNoStorage || to == kNoStorage || (may && !may(from, to)) ||
        plan_.storages[from].last_step != step || plan_.storages[to].first_step != step) {
      continue;
    }
    first_of_chain_[to] = first_of_chain_[from];
    plan_.in_place[static_cast<size_t>(id)] = static_cast<int>(input);
    return;
  }
}

StorageChains::Blocks StorageChains::BlocksOf(const std::vector<size_t>& storages,
                                              const std::vector<Following>& following) const {
  Blocks blocks;
  std::vector<size_t>& of_chain = blocks.of_chain;
  of_chain.assign(plan_.storages.size(), kNoStorage);
  std::vector<Buffer>& buffers = blocks.buffers;
  for (const size_t index : storages) {
    const PlannedStorage& storage = plan_.storages[index];
    size_t& block = of_chain[first_of_chain_[index]];
    if (block == kNoStorage) {
      block = buffers.size();
      buffers.push_back({storage.first_step, storage.last_step + 1, storage.bytes,
                         kStorageAlignment, std::nullopt});
      continue;
    }
    Buffer& buffer = buffers[block];
    buffer.lower = std::min(buffer.lower, storage.first_step);
    buffer.upper = std::max(buffer.upper, storage.last_step + 1);
    buffer.size = std::max(buffer.size, storage.bytes);
  }
  // The last to be written of those that lie on each other begins where the arena does, and each
  // source as little behind its target as it may.
  const auto first_of = [&](size_t storage) { return of_chain[first_of_chain_[storage]]; };
  std::vector<Following> latest_first = following;
  std::sort(latest_first.begin(), latest_first.end(), [&](const Following& a, const Following& b) {
    return plan_.storages[a.target].first_step > plan_.storages[b.target].first_step;
  });
  for (const Following& pair : latest_first) {
    Buffer& source = buffers[first_of(pair.source)];
    Buffer& target = buffers[first_of(pair.target)];
    target.offset = target.offset.value_or(0);
    source.offset = std::max<int64_t>(*target.offset + pair.distance, 0);
  }
  if (ReplaceByBands(latest_first, blocks)) return blocks;
  for (const Following& pair : latest_first) {
    Buffer& source = buffers[first_of(pair.source)];
    Buffer& target = buffers[first_of(pair.target)];
    const int64_t begin = std::min(*source.offset, *target.offset);
    const int64_t end = std::max(*source.offset + source.size, *target.offset + target.size);
    const Buffer both = {target.lower, source.upper, end - begin, kStorageAlignment, begin};
    std::swap(source.upper, target.lower);
    buffers.push_back(both);
  }
  return blocks;
}

/// Puts bands in the place of the blocks of all pairs: bytes of a target from when they are written
/// on, bytes of a source until they are used last. Others may lie on what is left, before the one
/// or after the other. Returns false, and changes nothing, where such bytes would meet.
bool StorageChains::ReplaceByBands(const std::vector<Following>& pairs, Blocks& blocks) const {
  constexpr size_t kMostBands = 512;
  if (parts_.empty()) return false;
  std::vector<Buffer> bands;
  std::vector<size_t> replaced;
  for (size_t i = 0; i < plan_.storages.size(); ++i) {
    const auto is_source = [i](const Following& pair) { return pair.source == i; };
    const auto is_target = [i](const Following& pair) { return pair.target == i; };
    const bool is_read = std::any_of(pairs.begin(), pairs.end(), is_source);
    const bool is_written = std::any_of(pairs.begin(), pairs.end(), is_target);
    if (!is_read && !is_written) continue;
    const size_t index = blocks.of_chain[first_of_chain_[i]];
    const Buffer& block = blocks.buffers[index];
    if (block.size != plan_.storages[i].bytes ||
        !AddBands(parts_[i], is_written, is_read, block, bands)) {
      return false;
    }
    replaced.push_back(index);
  }
  if (bands.size() > kMostBands) return false;
  for (const Buffer& a : bands) {
    for (const Buffer& b : bands) {
      const bool meet = &a != &b && a.lower < b.upper && b.lower < a.upper &&
                        *a.offset < *b.offset + b.size && *b.offset < *a.offset + a.size;
      if (meet) return false;
    }
  }
  for (const size_t index : replaced) blocks.buffers[index].upper = blocks.buffers[index].lower;
  blocks.buffers.insert(blocks.buffers.end(), bands.begin(), bands.end());
  return true;
}

/// A storage that has taken bytes over may be followed, and one that passes its own on may follow:
/// what shares their bytes is alive before or after both.
bool StorageChains::MayFollow(const Following& pair) const {
  for (size_t i = 0; i < first_of_chain_.size(); ++i) {
    if (i == pair.source || i == pair.target) continue;
    const PlannedStorage& other = plan_.storages[i];
    const size_t chain = first_of_chain_[i];
    if ((chain == first_of_chain_[pair.source] &&
         other.last_step > plan_.storages[pair.source].first_step) ||
        (chain == first_of_chain_[pair.target] &&
         other.first_step < plan_.storages[pair.target].last_step)) {
      return false;
    }
  }
  return first_of_chain_[pair.source] != first_of_chain_[pair.target];
}

std::vector<Following> StorageChains::Useful(const std::vector<size_t>& storages,
                                             const std::vector<Following>& pairs) const {
  std::vector<Following> useful;
  // What has taken over bytes of a pair has to be out of the way too.
  const Blocks blocks = BlocksOf(storages, {});
  const auto block_of = [&](size_t storage) {
    return blocks.buffers[blocks.of_chain[first_of_chain_[storage]]];
  };
  const auto comes_first = [&](const Following& p, const Following& q) {
    // One may follow where the other has followed, once that has lost its source.
    return block_of(p.target).upper <= block_of(q.source).lower ||
           (p.target == q.source && block_of(p.source).upper <= block_of(q.target).lower);
  };
  const auto collide = [&](const Following& a, const Following& b) {
    return !comes_first(a, b) && !comes_first(b, a);
  };
  for (const Following& pair : pairs) {
    const bool is_free = std::none_of(useful.begin(), useful.end(),
                                      [&](const Following& other) { return collide(pair, other); });
    if (is_free && MayFollow(pair)) useful.push_back(pair);
  }
  const int64_t bound = LowerBound(BlocksOf(storages, useful).buffers);
  if (bound >= LowerBound(blocks.buffers)) return {};
  // What lowers nothing would only be in others' way.
  for (size_t i = useful.size(); i-- > 0;) {
    std::vector<Following> fewer = useful;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (LowerBound(BlocksOf(storages, fewer).buffers) <= bound) useful = std::move(fewer);
  }
  return useful;
}

Placement StorageChains::Place(const std::vector<size_t>& storages, const PlaceOptions& options,
                               const std::vector<Following>& following) {
  const Blocks blocks = BlocksOf(storages, following);
  Placement placement = memo_ == nullptr ? PlaceBuffers(blocks.buffers, options)
                                         : memo_->Place(blocks.buffers, options);
  for (const size_t index : storages) {
    const size_t block = blocks.of_chain[first_of_chain_[index]];
    // What is written first may leave its source no time before: then that has no place of its own.
    plan_.storages[index].offset = blocks.buffers[block].offset.value_or(placement.offsets[block]);
  }
  plan_.place_work += placement.work;
  return placement;
}

}  // namespace tenon::converter
