// The host driver on a simulated board whose kernel copies bytes and flips their lowest bits
// (tests/support/fpga/loopback.sv).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "backends/fpga/fpga_backend.hpp"
#include "backends/fpga/isa/descriptor.hpp"
#include "backends/fpga/isa/parameters.hpp"

namespace tenon::test {

/// Sets an environment variable while it lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

/// Points XRT to the simulated board, once and for all, and the driver to the kernel's image.
void UseLoopbackBoard();

/// A count of the simulated board's (counters.hpp).
[[nodiscard]] uint64_t CountOf(const char* name);

/// Has call number `number` from now on of the board's driver interface fail (call_faults.hpp); 0:
/// none. Counted are the calls of `function`, null: all.
void FailDriverCall(int number, const char* function = nullptr);
/// The name of the one that failed; empty if none has.
[[nodiscard]] std::string FailedDriverCall();

[[nodiscard]] std::string Words(const Status& status);

/// What the kernel runs: copies `beats` of 16 bytes. Of `magic` it wants 1; up to 15 are code that
/// the driver takes and the kernel does not.
[[nodiscard]] std::vector<uint8_t> CopyCode(uint32_t beats, uint32_t magic = 1);

/// What the kernel says of itself.
[[nodiscard]] std::vector<uint32_t> LoopbackParameters();

/// What a plan would say of code for the kernel: from window 0 to window 1, of 16 bytes a beat.
struct LoopbackCode {
  explicit LoopbackCode(uint32_t beats, uint32_t magic = 1);

  [[nodiscard]] SegmentCode View() const;

  std::vector<uint8_t> bytes;
  std::vector<CodeWindow> windows;
  std::string accelerator = fpga::isa::kAcceleratorName;
  uint32_t version = fpga::isa::kFormatVersion;
  std::vector<uint32_t> parameters = LoopbackParameters();
  std::vector<uint32_t> image;
};

/// A view of bytes at a place of an arena.
struct ByteView {
  ByteView(void* place, size_t bytes) : dims{static_cast<int32_t>(bytes)} {
    view.data = place;
    view.dims = dims;
    view.strides = strides;
    view.dtype = DType::kU8;
    view.rank = 1;
  }
  int32_t dims[1];
  int32_t strides[1] = {1};
  TensorView view;
};

/// A loaded device with one queue on one arena, whose halves are the kernel's input and output.
class Rig {
 public:
  explicit Rig(size_t bytes = 1024);
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  ~Rig();

  /// Empty if all is well.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] void* device() const { return device_; }
  [[nodiscard]] void* queue() const { return queue_; }
  [[nodiscard]] size_t half() const { return bytes_ / 2; }
  [[nodiscard]] uint8_t* input() const { return arena_; }
  [[nodiscard]] uint8_t* output() const { return arena_ + half(); }

  Status Load(const LoopbackCode& code);
  /// One segment: uploads the input (unless it is not to), starts, and waits for the output.
  Status Run(Deadline nanoseconds = 10'000'000'000U, bool uploads = true);
  /// The same without waiting; `event` is the output's.
  Status Enqueue(void** event, bool uploads = true);
  Status Wait(void* event, Deadline nanoseconds = 10'000'000'000U);
  Status Drain(Deadline nanoseconds = 10'000'000'000U);
  /// True if the output is the input with every lowest bit flipped.
  [[nodiscard]] bool IsRight() const;
  /// Writes other bytes than before into the input, and zeros into the output.
  void Fill(uint8_t seed);

 private:
  size_t bytes_;
  uint8_t* arena_ = nullptr;
  void* device_ = nullptr;
  void* queue_ = nullptr;
  void* code_ = nullptr;
  std::deque<LoopbackCode> loaded_;  ///< what plans lend to devices stays where it is
  std::string failure_;
};

[[nodiscard]] Deadline NowPlus(Deadline nanoseconds);

}  // namespace tenon::test
