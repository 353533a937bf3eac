// The memory of the simulated board: banks with addresses of their own, apart from the host's
// memory, so that a copy which the host has forgotten shows as wrong results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace tenon::fpga::sim {

/// One bank. What has never been written reads as kUnwritten.
class MemoryBank {
 public:
  static constexpr uint8_t kUnwritten = 0xA5;

  MemoryBank(uint64_t base, uint64_t bytes) : base_(base), bytes_(bytes) {}
  MemoryBank(const MemoryBank&) = delete;
  MemoryBank& operator=(const MemoryBank&) = delete;
  MemoryBank(MemoryBank&& other) noexcept;
  ~MemoryBank();

  /// Takes `bytes` and fills them with kUnwritten. Returns their address; 0: there is no room.
  uint64_t Allocate(uint64_t bytes);
  void Free(uint64_t address) { taken_.erase(address); }

  /// The bytes at a device address; null unless all of them belong to the bank.
  [[nodiscard]] uint8_t* At(uint64_t address, uint64_t bytes) const;

 private:
  uint64_t base_;
  uint64_t bytes_;
  mutable uint8_t* memory_ = nullptr;   ///< mapped at first use
  std::map<uint64_t, uint64_t> taken_;  ///< bytes by address
};

/// All banks of a board.
class DeviceMemory {
 public:
  /// Makes the banks anew; all that was in them is gone.
  void SetBanks(std::vector<MemoryBank> banks) { banks_ = std::move(banks); }
  [[nodiscard]] size_t bank_count() const { return banks_.size(); }
  [[nodiscard]] MemoryBank& bank(size_t index) { return banks_[index]; }
  /// As MemoryBank::At, in whichever bank has the address.
  [[nodiscard]] uint8_t* At(uint64_t address, uint64_t bytes) const;

 private:
  std::vector<MemoryBank> banks_;
};

}  // namespace tenon::fpga::sim
