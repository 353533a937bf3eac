// The memory that kernels hold for their weights.
#include "backends/cpu/kernels/held_block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

namespace tenon::cpu {
namespace {

constexpr size_t kSizes[] = {
    1, 64, 1000, size_t{64} << 10, (size_t{3} << 20) + 5, size_t{20} << 20};

bool IsZero(const uint8_t* bytes, size_t count) {
  return std::all_of(bytes, bytes + count, [](uint8_t byte) { return byte == 0; });
}

TEST_CASE("Held blocks: each is aligned to a cache line, zeroed, and apart from all others") {
  std::vector<uint8_t*> blocks;
  for (const size_t bytes : kSizes) {
    auto* block = static_cast<uint8_t*>(AllocateBlock(bytes));
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(block) % BlockLayout::kAlignment == 0);
    CHECK(IsZero(block, bytes));
    std::memset(block, static_cast<int>(blocks.size()) + 1, bytes);
    blocks.push_back(block);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto own = static_cast<uint8_t>(i + 1);
    CHECK(std::all_of(blocks[i], blocks[i] + kSizes[i], [&](uint8_t b) { return b == own; }));
  }
  for (uint8_t* block : blocks) FreeBlock(block);
}

TEST_CASE("Held blocks: memory that was freed and given again is zeroed again") {
  constexpr size_t kBytes = size_t{1} << 20;
  for (int round = 0; round < 20; ++round) {
    auto* block = static_cast<uint8_t*>(AllocateBlock(kBytes));
    REQUIRE(block != nullptr);
    REQUIRE(IsZero(block, kBytes));
    std::memset(block, 0xFF, kBytes);
    FreeBlock(block);
  }
}

TEST_CASE("Held blocks: freeing one leaves its neighbours as they are") {
  constexpr size_t kBytes = size_t{128} << 10;
  auto* first = static_cast<uint8_t*>(AllocateBlock(kBytes));
  auto* second = static_cast<uint8_t*>(AllocateBlock(kBytes));
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  second[0] = 7;
  second[kBytes - 1] = 9;
  FreeBlock(first);
  CHECK(second[0] == 7);
  CHECK(second[kBytes - 1] == 9);
  FreeBlock(second);
}

TEST_CASE("Held blocks: threads may take and free them side by side") {
  const auto work = [](uint8_t mark) {
    for (int round = 0; round < 50; ++round) {
      const size_t bytes = (size_t{64} << 10) * static_cast<size_t>(round % 5 + 1);
      auto* block = static_cast<uint8_t*>(AllocateBlock(bytes));
      std::memset(block, mark, bytes);
      CHECK(std::all_of(block, block + bytes, [&](uint8_t b) { return b == mark; }));
      FreeBlock(block);
    }
  };
  std::thread one(work, uint8_t{1});
  std::thread two(work, uint8_t{2});
  one.join();
  two.join();
}

}  // namespace
}  // namespace tenon::cpu
