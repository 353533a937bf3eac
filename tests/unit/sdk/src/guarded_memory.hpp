// Memory that ends, or begins, at a page that nobody may touch: a byte too far ends the program.
#pragma once

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tenon::test {

enum class GuardedEdge { kBegin, kEnd };

/// `bytes` of memory, all 0xA5, with an inaccessible page before and behind. One edge lies at its
/// page, the end as closely as `alignment` allows; what is left between is checked by Intact.
class GuardedMemory {
 public:
  GuardedMemory(size_t bytes, size_t alignment, GuardedEdge edge) : bytes_(bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    room_ = (bytes + alignment + page - 1) / page * page;
    mapped_ = room_ + 2 * page;
    void* map = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(map != MAP_FAILED);
    map_ = static_cast<uint8_t*>(map);
    room_begin_ = map_ + page;
    REQUIRE(mprotect(room_begin_, room_, PROT_READ | PROT_WRITE) == 0);
    std::memset(room_begin_, kFill, room_);
    data_ = room_begin_;
    if (edge == GuardedEdge::kEnd) data_ += (room_ - bytes) / alignment * alignment;
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(map_, mapped_); }

  [[nodiscard]] uint8_t* data() const { return data_; }
  [[nodiscard]] size_t size() const { return bytes_; }
  /// From now on, writing is an error too.
  void Seal() { REQUIRE(mprotect(room_begin_, room_, PROT_READ) == 0); }
  /// Nothing has been written between the memory and the guarding pages.
  [[nodiscard]] bool Intact() const {
    for (const uint8_t* at = room_begin_; at < room_begin_ + room_; ++at) {
      if (at == data_ && bytes_ > 0) at += bytes_;
      if (at < room_begin_ + room_ && *at != kFill) return false;
    }
    return true;
  }

 private:
  static constexpr int kFill = 0xA5;
  size_t bytes_;
  size_t room_ = 0;
  size_t mapped_ = 0;
  uint8_t* map_ = nullptr;
  uint8_t* room_begin_ = nullptr;
  uint8_t* data_ = nullptr;
};

}  // namespace tenon::test
