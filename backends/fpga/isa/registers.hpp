// The accelerator as its host sees it: arguments of its kernel, and registers behind its control
// port, which is that of Vitis' kernels (ap_ctrl_hs: start in bit 0 of register 0, done in bit 1).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::fpga::isa {

/// What plans call it, and what its kernel is called in images, where names are identifiers.
inline constexpr char kAcceleratorName[] = "tenon-cnn";
inline constexpr char kKernelName[] = "tenon_cnn";

/// Arguments in the kernel's order, and where their registers are. Pointers take eight bytes.
inline constexpr size_t kBaseRegisters = 4;
inline constexpr int kCodeArgument = 0;
inline constexpr int kCodeBytesArgument = 1;
inline constexpr int kFirstBaseArgument = 2;
constexpr int BaseArgument(size_t base) { return kFirstBaseArgument + static_cast<int>(base); }
inline constexpr uint32_t kCodeOffset = 0x10;
inline constexpr uint32_t kCodeBytesOffset = 0x1C;
constexpr uint32_t BaseOffset(size_t base) { return 0x24 + 12 * static_cast<uint32_t>(base); }

/// Pieces of memory that code may be shown, several through one base register.
inline constexpr size_t kMostWindows = 64;

/// Registers to read. An error keeps its code until the next start.
inline constexpr uint32_t kErrorRegister = 0x54;
inline constexpr uint32_t kErrorPlaceRegister = 0x58;  ///< number of the descriptor
inline constexpr uint32_t kIdRegister = 0x60;
inline constexpr uint32_t kVersionRegister = 0x64;  ///< of the descriptors' format
inline constexpr uint32_t kFirstParameterRegister = 0x70;
inline constexpr uint32_t kFirstCounterRegister = 0x90;

inline constexpr uint32_t kId = 0x4E4E4354;  ///< "TCNN"

/// Of the array: input channels, output channels, pixels, and the version of the buffers' sizes.
inline constexpr size_t kParameters = 4;

/// What the accelerator says of itself.
struct Identity {
  uint32_t id = 0;
  uint32_t version = 0;
  uint32_t parameters[kParameters] = {};
};

/// Counters of the last start, in the order of their registers; all in clocks.
inline constexpr const char* kCounterNames[] = {"cycles", "array_active", "waiting_for_reads",
                                                "waiting_for_writes", "waiting_for_descriptors"};

/// What stops the accelerator.
enum class Error : uint32_t { kNone = 0, kDescriptor = 1, kAxi = 2, kWatchdog = 3 };

/// The words for a code in the error register.
[[nodiscard]] constexpr const char* ErrorText(uint32_t code) {
  switch (static_cast<Error>(code)) {
    case Error::kNone:
      return "no error";
    case Error::kDescriptor:
      return "a descriptor that means nothing";
    case Error::kAxi:
      return "the memory answered with an error";
    case Error::kWatchdog:
      return "nothing has moved for too long";
  }
  return "an error of another release";
}

}  // namespace tenon::fpga::isa
