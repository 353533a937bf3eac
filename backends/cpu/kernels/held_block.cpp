#include "backends/cpu/kernels/held_block.hpp"

#include <cstring>
#include <mutex>
#include <new>

#include "runtime/base/huge_pages.hpp"

// Sanitizers see the ends of blocks only where each is an allocation of its own.
#if !defined(__linux__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENON_POOLS_BLOCKS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENON_POOLS_BLOCKS 0
#else
#define TENON_POOLS_BLOCKS 1
#endif
#else
#define TENON_POOLS_BLOCKS 1
#endif

namespace tenon::cpu {
namespace {

/// Is how many bytes a chunk has at least. Memory that no block was cut from is never touched, so
/// that it stays an address.
constexpr size_t kChunkBytes = 8 * kHugePageBytes;
constexpr size_t kLeastPooledBytes = size_t{64} << 10;

/// Stands at the beginning of its own memory. Blocks are cut from it in order, and none is reused
/// before all are freed.
struct Chunk {
  static constexpr size_t kHeaderBytes = BlockLayout::kAlignment;
  size_t bytes;
  size_t used;
  int blocks;
  Chunk* next;
};
static_assert(sizeof(Chunk) <= Chunk::kHeaderBytes);

std::mutex chunks_mutex;
Chunk* chunks = nullptr;  // guarded by chunks_mutex

#if TENON_POOLS_BLOCKS

/// Returns memory that begins at a huge page, or null. `bytes`: a multiple of their size.
void* MapAligned(size_t bytes) {
  const size_t mapped = bytes + kHugePageBytes;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const size_t before = RoundUp(address, kHugePageBytes) - address;
  if (before > 0) munmap(memory, before);
  auto* aligned = static_cast<uint8_t*>(memory) + before;
  munmap(aligned + bytes, kHugePageBytes - before);
  return aligned;
}

void Unmap(void* memory, size_t bytes) { munmap(memory, bytes); }

#else

void* MapAligned(size_t) { return nullptr; }
void Unmap(void*, size_t) {}

#endif

Chunk* AddChunk(size_t least) {
  constexpr size_t kMost = SIZE_MAX / 2;
  if (least > kMost) return nullptr;
  const size_t needed = Chunk::kHeaderBytes + least;
  const size_t bytes = RoundUp(needed > kChunkBytes ? needed : kChunkBytes, kHugePageBytes);
  void* memory = MapAligned(bytes);
  if (memory == nullptr) return nullptr;
  AdviseHugePages(memory, bytes);
  chunks = new (memory) Chunk{bytes, Chunk::kHeaderBytes, 0, chunks};
  return chunks;
}

/// Returns a chunk with so many bytes left, or null where there is no memory.
Chunk* ChunkWith(size_t bytes) {
  for (Chunk* chunk = chunks; chunk != nullptr; chunk = chunk->next) {
    if (chunk->bytes - chunk->used >= bytes) return chunk;
  }
  return AddChunk(bytes);
}

void* TakeFromChunk(size_t bytes) {
  const std::lock_guard<std::mutex> lock(chunks_mutex);
  Chunk* chunk = ChunkWith(bytes);
  if (chunk == nullptr) return nullptr;
  void* memory = reinterpret_cast<uint8_t*>(chunk) + chunk->used;
  chunk->used += bytes;
  ++chunk->blocks;
  return memory;
}

bool IsIn(const Chunk& chunk, const void* memory) {
  const auto* byte = static_cast<const uint8_t*>(memory);
  const auto* first = reinterpret_cast<const uint8_t*>(&chunk);
  return byte >= first && byte < first + chunk.bytes;
}

/// Returns false if the block is in no chunk.
bool ReturnToChunk(const void* memory) {
  const std::lock_guard<std::mutex> lock(chunks_mutex);
  for (Chunk** link = &chunks; *link != nullptr; link = &(*link)->next) {
    Chunk* chunk = *link;
    if (!IsIn(*chunk, memory)) continue;
    if (--chunk->blocks > 0) return true;
    *link = chunk->next;
    Unmap(chunk, chunk->bytes);
    return true;
  }
  return false;
}

}  // namespace

void* AllocateBlock(size_t bytes) {
  const size_t rounded = RoundUp(bytes, BlockLayout::kAlignment);
  void* memory = nullptr;
  if (TENON_POOLS_BLOCKS != 0 && rounded >= kLeastPooledBytes) {
    memory = TakeFromChunk(rounded);
  } else {
    memory = ::operator new(rounded, std::align_val_t(BlockLayout::kAlignment), std::nothrow);
  }
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

void FreeBlock(void* memory) {
  if (memory == nullptr || ReturnToChunk(memory)) return;
  ::operator delete(memory, std::align_val_t(BlockLayout::kAlignment));
}

size_t BytesInChunks() {
  const std::lock_guard<std::mutex> lock(chunks_mutex);
  size_t bytes = 0;
  for (const Chunk* chunk = chunks; chunk != nullptr; chunk = chunk->next) {
    bytes += chunk->used - Chunk::kHeaderBytes;
  }
  return bytes;
}

}  // namespace tenon::cpu
