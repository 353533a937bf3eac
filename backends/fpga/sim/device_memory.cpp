#include "backends/fpga/sim/device_memory.hpp"

#include <sys/mman.h>

#include <cstring>
#include <utility>

namespace tenon::fpga::sim {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

MemoryBank::MemoryBank(MemoryBank&& other) noexcept
    : base_(other.base_),
      bytes_(other.bytes_),
      memory_(std::exchange(other.memory_, nullptr)),
      taken_(std::move(other.taken_)) {}

MemoryBank::~MemoryBank() {
  if (memory_ != nullptr) munmap(memory_, bytes_);
}

uint64_t MemoryBank::Allocate(uint64_t bytes) {
  if (bytes > bytes_) return 0;
  const uint64_t rounded = (bytes + kPage - 1) / kPage * kPage;
  uint64_t place = base_;
  for (const auto& [address, length] : taken_) {
    if (address - place >= rounded) break;
    place = address + length;
  }
  uint8_t* const memory = At(place, rounded);
  if (memory == nullptr) return 0;
  std::memset(memory, kUnwritten, rounded);
  taken_[place] = rounded;
  return place;
}

uint8_t* MemoryBank::At(uint64_t address, uint64_t bytes) const {
  if (address < base_ || bytes > bytes_ || address - base_ > bytes_ - bytes) return nullptr;
  if (memory_ == nullptr) {
    // Pages that nobody touches cost nothing, so that a bank may be as large as a board's.
    void* const mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    memory_ = static_cast<uint8_t*>(mapped);
  }
  return memory_ + (address - base_);
}

uint8_t* DeviceMemory::At(uint64_t address, uint64_t bytes) const {
  for (const MemoryBank& bank : banks_) {
    if (uint8_t* const found = bank.At(address, bytes); found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace tenon::fpga::sim
