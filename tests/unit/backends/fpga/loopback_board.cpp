#include "tests/unit/backends/fpga/loopback_board.hpp"

#include <dlfcn.h>

#include <cstring>
#include <ctime>
#include <iterator>

namespace tenon::test {
namespace {

const DeviceApi& Api() { return *fpga::FpgaBackend().device; }

std::string BoardFolder() { return std::string(std::getenv("TENON_BINARY_DIR")) + "/fpga-sim"; }

/// A function of the library that XRT takes for the board's driver; null: it has none.
template <typename Function>
Function BoardFunction(const char* name) {
  void* const board = dlopen((BoardFolder() + "/lib/libxrt_core.so.2").c_str(), RTLD_NOW);
  return board == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(board, name));
}

}  // namespace

void UseLoopbackBoard() {
  setenv("XILINX_XRT", BoardFolder().c_str(), 1);
  setenv("TENON_FPGA_XCLBIN", (BoardFolder() + "/share/tenon/loopback.xclbin").c_str(), 1);
}

uint64_t CountOf(const char* name) {
  auto* const count = BoardFunction<uint64_t (*)(const char*)>("tenon_fpga_sim_count");
  return count == nullptr ? UINT64_MAX : count(name);
}

void FailDriverCall(int number, const char* function) {
  auto* const fail = BoardFunction<void (*)(uint64_t, const char*)>("tenon_fpga_sim_fail_call");
  if (fail != nullptr) fail(static_cast<uint64_t>(number), function);
}

std::string FailedDriverCall() {
  auto* const failed = BoardFunction<const char* (*)()>("tenon_fpga_sim_failed_call");
  const char* const name = failed == nullptr ? nullptr : failed();
  return name == nullptr ? "" : name;
}

std::string Words(const Status& status) {
  char text[400];
  return std::string(text, status.Format(Span<char>(text, sizeof text)));
}

std::vector<uint8_t> CopyCode(uint32_t beats, uint32_t magic) {
  fpga::isa::Descriptor descriptor;
  descriptor.last = true;
  descriptor.in_height = descriptor.out_height = beats;
  descriptor.block_pixels = beats + beats % 2;
  descriptor.window.kernel_height = magic;
  descriptor.load = {true, {0, 0}, 16, 16, false};
  descriptor.store = {true, {1, 0}, 16, 16, false};
  descriptor.in_group_words = descriptor.out_group_words = beats;
  uint32_t words[fpga::isa::kDescriptorWords];
  fpga::isa::Encode(descriptor, words);
  std::vector<uint8_t> code(sizeof words);
  std::memcpy(code.data(), words, sizeof words);
  return code;
}

std::vector<uint32_t> LoopbackParameters() {
  uint32_t words[fpga::isa::kParameters];
  fpga::isa::Parameters().Encode(words);
  return {std::begin(words), std::end(words)};
}

LoopbackCode::LoopbackCode(uint32_t beats, uint32_t magic) : bytes(CopyCode(beats, magic)) {
  for (uint8_t i = 0; i < 2; ++i) {
    CodeWindow window;
    window.bytes = size_t{16} * beats;
    window.base_register = i;
    window.writes = i == 1;
    windows.push_back(window);
  }
}

SegmentCode LoopbackCode::View() const {
  SegmentCode code;
  code.bytes = Span<const uint8_t>(bytes.data(), bytes.size());
  code.windows = Span<const CodeWindow>(windows.data(), windows.size());
  code.accelerator = accelerator.c_str();
  code.version = version;
  code.parameters = Span<const uint32_t>(parameters.data(), parameters.size());
  code.image = Span<const uint32_t>(image.data(), image.size());
  return code;
}

Rig::Rig(size_t bytes) : bytes_(bytes) {
  UseLoopbackBoard();
  arena_ = static_cast<uint8_t*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
  Status status = Api().open(1, &device_);
  if (!status.ok()) device_ = nullptr;
  const ArenaMemory memory{arena_, bytes};
  if (status.ok()) {
    status = Api().open_queue(device_, Span<const ArenaMemory>(&memory, 1), &queue_);
  }
  if (!status.ok()) failure_ = Words(status);
}

Rig::~Rig() {
  if (queue_ != nullptr) Api().close_queue(queue_);
  if (code_ != nullptr) Api().unload_code(device_, code_);
  if (device_ != nullptr) Api().close(device_);
  std::free(arena_);
}

Status Rig::Load(const LoopbackCode& code) {
  if (code_ != nullptr) Api().unload_code(device_, code_);
  code_ = nullptr;
  loaded_.push_back(code);
  return Api().load_code(device_, loaded_.back().View(), &code_);
}

Status Rig::Enqueue(void** event, bool uploads) {
  const ByteView from(input(), half());
  const ByteView to(output(), half());
  void* const bases[] = {input(), output()};
  TENON_RETURN_IF_ERROR(Api().start(queue_));
  if (uploads) TENON_RETURN_IF_ERROR(Api().upload(queue_, SharedTensor{&from.view, input()}));
  TENON_RETURN_IF_ERROR(Api().run_code(queue_, code_, Span<void* const>(bases, 2)));
  TENON_RETURN_IF_ERROR(Api().signal(queue_, SharedTensor{&to.view, output()}, event));
  return Api().submit(queue_);
}

Status Rig::Wait(void* event, Deadline nanoseconds) {
  return Api().wait(queue_, event, NowPlus(nanoseconds));
}

Status Rig::Drain(Deadline nanoseconds) { return Api().drain(queue_, NowPlus(nanoseconds)); }

Status Rig::Run(Deadline nanoseconds, bool uploads) {
  void* event = nullptr;
  TENON_RETURN_IF_ERROR(Enqueue(&event, uploads));
  return Wait(event, nanoseconds);
}

bool Rig::IsRight() const {
  for (size_t i = 0; i < half(); ++i) {
    if (output()[i] != (input()[i] ^ 1)) return false;
  }
  return true;
}

void Rig::Fill(uint8_t seed) {
  for (size_t i = 0; i < half(); ++i) input()[i] = static_cast<uint8_t>(i * 7 + seed);
  std::memset(output(), 0, half());
}

Deadline NowPlus(Deadline nanoseconds) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Deadline>(now.tv_sec) * 1'000'000'000U + static_cast<Deadline>(now.tv_nsec) +
         nanoseconds;
}

}  // namespace tenon::test
