// The accelerator's RTL, compiled by Verilator, against the interpreter of its code, byte by byte.
// TENON_FPGA_LAYERS: so many random layers (1,000 in the full tests), from seed TENON_FPGA_FROM
// (1). TENON_FPGA_GROUP: channels of the array that is simulated (16; 32 in the full tests).
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "backends/fpga/isa/interpret.hpp"
#include "backends/fpga/sim/compute_unit.hpp"
#include "backends/fpga/sim/model_library.hpp"
#include "tests/unit/backends/fpga/random_layers.hpp"

namespace tenon::test {
namespace {

using namespace fpga::isa;  // NOLINT
using fpga::sim::ComputeUnit;
using fpga::sim::FaultKind;

constexpr uint64_t kMemoryBase = 0x1'0000'0000;
constexpr uint64_t kMostClocks = 3'000'000;

Parameters Build() {
  const char* group = std::getenv("TENON_FPGA_GROUP");
  Parameters build;
  build.group = group == nullptr ? 16 : static_cast<uint32_t>(std::atoi(group));
  build.weight_lines = 2048;
  return build;
}

std::string ModelName() {
  const uint32_t group = Build().group;
  return group == 32 ? "accelerator" : "accelerator" + std::to_string(group);
}

/// The unit of the simulated board, with memory of its own.
class Board {
 public:
  Board() {
    std::vector<fpga::sim::MemoryBank> banks;
    banks.emplace_back(kMemoryBase, uint64_t{256} << 20);
    memory_.SetBanks(std::move(banks));
    const std::string path = std::string(std::getenv("TENON_BINARY_DIR")) +
                             "/fpga-sim/share/tenon/" + ModelName() + ".so";
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(library_ != nullptr, dlerror());
    auto* make = reinterpret_cast<fpga::sim::MakeUnit*>(dlsym(library_, fpga::sim::kMakeUnitName));
    REQUIRE((make != nullptr));
    unit_.reset(make(memory_, fpga::sim::MemoryTiming()));
  }
  ~Board() {
    unit_.reset();
    dlclose(library_);
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  ComputeUnit& unit() { return *unit_; }

  /// Runs the code on a copy of its memory. Returns the error register; the arena is what is left.
  Error Run(const AcceleratorCode& code, std::vector<uint8_t>& arena) {
    const uint64_t places[] = {Put(code.descriptors), Put(arena), Put(code.constants)};
    Write64(kCodeOffset, places[0]);
    unit_->WriteRegister(kCodeBytesOffset, static_cast<uint32_t>(code.descriptors.size()));
    Write64(BaseOffset(0), places[1]);
    Write64(BaseOffset(1), places[2]);
    const uint64_t begin = unit_->clocks();
    unit_->WriteRegister(0, 1);
    while ((unit_->ReadRegister(0) & 2) == 0) {
      REQUIRE(unit_->clocks() - begin < kMostClocks);
      unit_->Advance(64);
    }
    CHECK(unit_->Violation() == "");
    std::memcpy(arena.data(), memory_.At(places[1], arena.size()), arena.size());
    for (const uint64_t place : places) memory_.bank(0).Free(place);
    return static_cast<Error>(unit_->ReadRegister(kErrorRegister));
  }

 private:
  uint64_t Put(const std::vector<uint8_t>& bytes) {
    const uint64_t place = memory_.bank(0).Allocate(bytes.size());
    std::memcpy(memory_.At(place, bytes.size()), bytes.data(), bytes.size());
    return place;
  }
  void Write64(uint32_t offset, uint64_t value) {
    unit_->WriteRegister(offset, static_cast<uint32_t>(value));
    unit_->WriteRegister(offset + 4, static_cast<uint32_t>(value >> 32));
  }

  fpga::sim::DeviceMemory memory_;
  void* library_ = nullptr;
  std::unique_ptr<ComputeUnit> unit_;
};

std::vector<uint8_t> Interpreted(AcceleratorCode code, Chip& chip) {
  Memory memory;
  memory.bases[0] = {code.arena.data(), code.arena.size()};
  memory.bases[1] = {code.constants.data(), code.constants.size()};
  const Outcome outcome = Interpret(code.descriptors.data(), code.descriptors.size(), memory, chip);
  CAPTURE(std::string(outcome.status.message()));
  CAPTURE(outcome.descriptor);
  CHECK(outcome.error == Error::kNone);
  return code.arena;
}

void CheckLayers(Board& board, Chip& chip, uint32_t seed, int layers, bool residuals) {
  CAPTURE(seed);
  const AcceleratorCode code = RandomLayers(seed, layers, Build(), residuals);
  std::vector<uint8_t> arena = code.arena;
  CHECK(board.Run(code, arena) == Error::kNone);
  const std::vector<uint8_t> expected = Interpreted(code, chip);
  const auto wrong = std::mismatch(arena.begin(), arena.end(), expected.begin());
  CAPTURE(wrong.first - arena.begin());
  CHECK((wrong.first == arena.end()));
}

TEST_CASE("Accelerator: random layers leave the interpreter's bytes in memory") {
  const char* count = std::getenv("TENON_FPGA_LAYERS");
  const char* from = std::getenv("TENON_FPGA_FROM");
  const auto layers = static_cast<uint32_t>(count == nullptr ? 40 : std::atoi(count));
  const auto first = static_cast<uint32_t>(from == nullptr ? 1 : std::atoi(from));
  Board board;
  Chip chip(Build());
  for (uint32_t i = 0; i < layers; ++i) CheckLayers(board, chip, first + i, 1, true);
}

TEST_CASE("Accelerator: layers after layers in one start leave the interpreter's bytes") {
  Board board;
  Chip chip(Build());
  for (uint32_t seed = 1; seed <= 6; ++seed) CheckLayers(board, chip, 5000 + seed, 6, true);
}

TEST_CASE(
    "Accelerator: a changed descriptor is refused with its number, and the next start works") {
  Board board;
  Chip chip(Build());
  AcceleratorCode code = RandomLayers(7, 3, Build(), false);
  for (const size_t place :
       {size_t{0}, kDescriptorBytes + size_t{21}, 3 * size_t{kDescriptorBytes} - 1}) {
    CAPTURE(place);
    AcceleratorCode broken = code;
    broken.descriptors[place] ^= 0x10;
    std::vector<uint8_t> arena = broken.arena;
    CHECK(board.Run(broken, arena) == Error::kDescriptor);
    CHECK(board.unit().ReadRegister(kErrorPlaceRegister) <= place / kDescriptorBytes);
  }
  CheckLayers(board, chip, 7, 3, /*residuals=*/false);
}

TEST_CASE("Accelerator: code without a last descriptor is refused") {
  Board board;
  AcceleratorCode code = RandomLayers(8, 2, Build(), false);
  code.descriptors.resize(kDescriptorBytes);
  std::vector<uint8_t> arena = code.arena;
  CHECK(board.Run(code, arena) == Error::kDescriptor);
}

TEST_CASE("Accelerator: memory that answers with an error stops it, and the next start works") {
  Board board;
  Chip chip(Build());
  const AcceleratorCode code = RandomLayers(9, 2, Build(), false);
  std::vector<uint8_t> arena = code.arena;
  board.unit().Inject(FaultKind::kAxiError);
  CHECK(board.Run(code, arena) == Error::kAxi);
  CheckLayers(board, chip, 9, 2, false);
}

TEST_CASE("Accelerator: code that waits for what never comes is stopped by the watchdog") {
  Board board;
  Chip chip(Build());
  AcceleratorCode code;
  AcceleratorCode one = RandomLayers(10, 1, Build(), false);
  uint32_t words[kDescriptorWords];
  std::memcpy(words, one.descriptors.data(), sizeof words);
  Descriptor descriptor;
  REQUIRE(Decode(words, descriptor).ok());
  // Its passes want more lines than it says that there are.
  descriptor.group_lines = Parameters::kFactorLines;
  code = one;
  code.descriptors.clear();
  AddDescriptor(descriptor, code);
  std::vector<uint8_t> arena = code.arena;
  CHECK(board.Run(code, arena) == Error::kWatchdog);
  CheckLayers(board, chip, 11, 1, false);
}

}  // namespace
}  // namespace tenon::test
