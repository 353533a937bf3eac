#include "backends/fpga/device/device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "backends/fpga/device/text.hpp"
#include "backends/fpga/isa/check_code.hpp"

namespace tenon::fpga {
namespace {

/// Where an image lies beside XRT, if nothing else is said.
constexpr char kImageBesideXrt[] = "/share/tenon/accelerator.xclbin";

std::string Variable(const char* name, const std::string& otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr || text[0] == '\0' ? otherwise : text;
}

/// The digits of a uuid in the order of its bytes in memory.
std::string UuidText(Span<const uint32_t> words) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint32_t word : words) {
    unsigned char bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    for (const unsigned char byte : bytes) {
      text += kDigits[byte >> 4U];
      text += kDigits[byte & 15U];
    }
  }
  return text;
}

}  // namespace

Status Device::Open() {
  BoardChoice choice;
  choice.device = Variable("TENON_FPGA_DEVICE", "0");
  const std::string root = Variable("XILINX_XRT", "");
  choice.xclbin = Variable("TENON_FPGA_XCLBIN", root.empty() ? "" : root + kImageBesideXrt);
  TENON_ENSURE(!choice.xclbin.empty(), kUnsupported,
               "no image for the accelerator: set TENON_FPGA_XCLBIN to the path of its xclbin, and "
               "XILINX_XRT to where XRT is");
  return Board::Find(choice, &board_);
}

Status Device::CheckTarget(const SegmentCode& code) const {
  const isa::Identity& identity = board_->identity();
  if (std::strcmp(code.accelerator, isa::kAcceleratorName) != 0) {
    return Status(StatusCode::kUnsupported,
                  "the code is for an accelerator '{s}': convert for this board")
        .About(code.accelerator);
  }
  TENON_ENSURE(identity.version == isa::kFormatVersion, kUnsupported,
               "the accelerator takes code of version {0}, this release knows {1}: load an image "
               "of the same release",
               identity.version, isa::kFormatVersion);
  TENON_ENSURE(
      code.version == identity.version, kUnsupported,
      "the code has version {0}, the accelerator takes {1}: convert again, or load an image "
      "of the same release",
      code.version, identity.version);
  TENON_ENSURE(code.parameters.size() == isa::kParameters, kUnsupported,
               "the code names {0} parameters, the accelerator has {1}",
               static_cast<int64_t>(code.parameters.size()), isa::kParameters);
  for (size_t i = 0; i < isa::kParameters; ++i) {
    TENON_ENSURE(code.parameters[i] == identity.parameters[i], kUnsupported,
                 "the code is for an array whose parameter {0} is {1}; the accelerator's is {2}: "
                 "convert for the board that this image is of",
                 static_cast<int64_t>(i), code.parameters[i], identity.parameters[i]);
  }
  const Span<const uint32_t> uuid = board_->uuid();
  if (code.image.empty() || std::equal(code.image.begin(), code.image.end(), uuid.begin())) {
    return OkStatus();
  }
  return Status(StatusCode::kUnsupported,
                "the code is for another image: {s}; set TENON_FPGA_XCLBIN to the one that the "
                "plan is for, or convert for this one (the board's image_uuid)")
      .About(KeepText("uuid " + UuidText(code.image) + ", not " + UuidText(uuid)));
}

/// Whatever a plan holds, its code stays within the segment's memory: a board's logic may reach all
/// that there is.
Status Device::CheckCode(const SegmentCode& code) const {
  std::vector<isa::BaseWindow> windows;
  for (const CodeWindow& window : code.windows) {
    TENON_ENSURE(window.base_register < isa::kBaseRegisters, kUnsupported,
                 "the code uses base register {0}, the accelerator has {1}", window.base_register,
                 isa::kBaseRegisters);
    windows.push_back({window.base_register, window.from_base, window.bytes,
                       window.constants == nullptr && window.writes});
  }
  return isa::CheckCode(code.bytes, isa::Parameters::Decode(board_->identity().parameters),
                        Span<const isa::BaseWindow>(windows.data(), windows.size()));
}

Status Device::LoadCode(const SegmentCode& code, std::unique_ptr<LoadedCode>* loaded) {
  TENON_RETURN_IF_ERROR(CheckTarget(code));
  TENON_RETURN_IF_ERROR(CheckCode(code));
  auto made = std::make_unique<LoadedCode>();
  TENON_ENSURE(code.bytes.size() <= UINT32_MAX, kCorruptPlan, "the code has {0} bytes",
               static_cast<int64_t>(code.bytes.size()));
  made->bytes = static_cast<uint32_t>(code.bytes.size());
  TENON_RETURN_IF_ERROR(
      CopyToBoard(code.bytes.data(), code.bytes.size(), isa::kCodeArgument, &made->address));
  for (const CodeWindow& window : code.windows) {
    uint64_t address = 0;
    if (window.constants != nullptr) {
      TENON_RETURN_IF_ERROR(CopyToBoard(window.constants, window.bytes,
                                        isa::BaseArgument(window.base_register), &address));
    }
    made->windows.push_back(window);
    made->constants.push_back(address);
  }
  *loaded = std::move(made);
  return OkStatus();
}

/// Several segments may use the same bytes, which are copied once.
Status Device::CopyToBoard(const void* bytes, size_t count, int argument, uint64_t* address) {
  for (const Copy& copy : copies_) {
    if (copy.bytes != bytes || copy.count != count) continue;
    *address = copy.buffer->address();
    return OkStatus();
  }
  Copy copy{bytes, count, nullptr};
  TENON_RETURN_IF_ERROR(board_->Allocate(count, argument, &copy.buffer));
  std::memcpy(copy.buffer->host(), bytes, count);
  TENON_RETURN_IF_ERROR(copy.buffer->ToBoard(0, copy.buffer->bytes()));
  *address = copy.buffer->address();
  copies_.push_back(std::move(copy));
  return OkStatus();
}

Status Device::LendArena(const ArenaWish& wish, void** base) {
  TENON_ENSURE(wish.alignment <= kBufferAlignment, kUnsupported,
               "buffers of the board begin at multiples of {0}, the arena wants {1}",
               static_cast<int64_t>(kBufferAlignment), static_cast<int64_t>(wish.alignment));
  std::unique_ptr<BoardBuffer> buffer;
  TENON_RETURN_IF_ERROR(
      board_->Allocate(wish.bytes, isa::BaseArgument(wish.base_register), &buffer));
  *base = buffer->host();
  const std::lock_guard<std::mutex> lock(lent_mutex_);
  lent_.push_back(std::move(buffer));
  return OkStatus();
}

void Device::TakeBackArena(const void* base) {
  const std::lock_guard<std::mutex> lock(lent_mutex_);
  const auto is_it = [base](const auto& buffer) { return buffer->host() == base; };
  lent_.erase(std::remove_if(lent_.begin(), lent_.end(), is_it), lent_.end());
}

BoardBuffer* Device::FindLent(const void* base) {
  const std::lock_guard<std::mutex> lock(lent_mutex_);
  for (const auto& buffer : lent_) {
    if (buffer->host() == base) return buffer.get();
  }
  return nullptr;
}

}  // namespace tenon::fpga
