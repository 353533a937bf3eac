#include "backends/fpga/codegen/place_scratch.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "runtime/base/round_up.hpp"

namespace tenon::fpga {
namespace {

/// Of the memory's ports, four times: stores of whole groups want a multiple of a beat.
constexpr int64_t kAlignment = 64;

struct Block {
  int64_t bytes = 0;
  int first = 0;  ///< layer
  int last = 0;
  int64_t offset = -1;
};

/// By the offset that tells it from others.
using Blocks = std::map<int64_t, Block>;

void Use(const LayerProgram& program, int map, int layer, Blocks& blocks) {
  const FeatureMap& used = program.maps[static_cast<size_t>(map)];
  if (used.block != kScratchBlock) return;
  Block& block = blocks.try_emplace(used.offset, Block{0, layer, layer, -1}).first->second;
  const int64_t rows = used.memory_row + used.height;
  block.bytes = std::max(block.bytes, rows * used.width * used.channels);
  block.last = layer;
}

int64_t FreeOffset(const Block& block, const Blocks& blocks) {
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const auto& [key, other] : blocks) {
    const bool meet = block.first <= other.last && other.first <= block.last;
    if (other.offset >= 0 && meet) taken.emplace_back(other.offset, other.offset + other.bytes);
  }
  std::sort(taken.begin(), taken.end());
  int64_t offset = 0;
  for (const auto& [begin, end] : taken) {
    if (offset + block.bytes <= begin) break;
    offset = std::max(offset, RoundUp(end, kAlignment));
  }
  return offset;
}

}  // namespace

int64_t PlaceScratch(LayerProgram& program) {
  Blocks blocks;
  for (size_t n = 0; n < program.layers.size(); ++n) {
    const Layer& layer = program.layers[n];
    Use(program, layer.input.map, static_cast<int>(n), blocks);
    Use(program, layer.output.map, static_cast<int>(n), blocks);
    if (layer.residual) Use(program, layer.residual->other.map, static_cast<int>(n), blocks);
  }
  std::vector<Block*> largest_first;
  for (auto& [key, block] : blocks) largest_first.push_back(&block);
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
  int64_t bytes = 0;
  for (Block* block : largest_first) {
    block->offset = FreeOffset(*block, blocks);
    bytes = std::max(bytes, block->offset + block->bytes);
  }
  for (FeatureMap& map : program.maps) {
    const auto found = map.block == kScratchBlock ? blocks.find(map.offset) : blocks.end();
    if (found != blocks.end()) map.offset = found->second.offset;
  }
  return bytes;
}

}  // namespace tenon::fpga
