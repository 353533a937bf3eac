// PROVISIONAL
#pragma once
#include <cstddef>
#include <cstdint>
namespace tenon::fpga::isa {
inline constexpr char kKernelName[] = "tenon_cnn";
inline constexpr size_t kBaseRegisters = 4;
inline constexpr int kCodeArgument = 0;
inline constexpr int kCodeBytesArgument = 1;
inline constexpr int kFirstBaseArgument = 2;
inline constexpr size_t kParameters = 4;
inline constexpr uint32_t kErrorRegister = 0x44;
inline constexpr uint32_t kErrorPlaceRegister = 0x48;
inline constexpr uint32_t kIdRegister = 0x50;
inline constexpr uint32_t kVersionRegister = 0x54;
inline constexpr uint32_t kFirstParameterRegister = 0x58;
struct Identity {
  uint32_t id = 0;
  uint32_t version = 0;
  uint32_t parameters[kParameters] = {};
};
inline constexpr uint32_t kId = 0x4e4e4354;
inline const char* ErrorText(uint32_t) { return "an error"; }
}  // namespace tenon::fpga::isa
