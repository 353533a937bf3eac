// Runs any plan on the board, through tenon.h as firmware uses it, with every kernel of this build:
//
//   firmware_runner [--ticks | --ops | --runs N | --random N | --steps N]
//       PLAN [INPUT...] [OUTPUT...]
//
// Files are the workstation's: the plan, one .npy file per input, and one file per output, which
// gets its bytes. Inputs of --input-from=NAME=rows:N are handed in by rows, but for --ops and
// --random, where they lie in memory. Prints what the plan took of memory. --ticks: also the ticks
// of the run. --ops: the ticks of every op of a second run. --runs: so many inferences, not one.
// --random: then so many on random bytes, and the fewest and most ticks that one took. --steps:
// inputs have a leading dimension of so many steps, which run one after the other with the plan's
// state kept; outputs get the bytes of all.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "sdk/examples/firmware/board/board.h"
#include "tenon/tenon.h"

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSramBytes = size_t{3} << 20;
BOARD_IN_SRAM alignas(kAlignment) uint8_t sram[kSramBytes];
size_t sram_used = 0;

[[noreturn]] void Fail(const std::string& what, tenon_status status = TENON_OK,
                       const tenon_error* error = nullptr) {
  std::printf("firmware_runner: error: %s", what.c_str());
  if (status != TENON_OK) std::printf(": %s", tenon_status_text(status));
  if (error != nullptr) std::printf(": %s", error->message);
  std::printf("\n");
  std::exit(1);
}

/// The C library here prints no size_t.
unsigned long Number(size_t value) { return static_cast<unsigned long>(value); }

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Aligned memory that nobody gives back: in the SRAM while that lasts, if asked, else behind it.
uint8_t* Allocate(size_t bytes, bool in_sram = false) {
  if (in_sram && RoundUp(bytes) <= kSramBytes - sram_used) {
    uint8_t* const given = sram + sram_used;
    sram_used += RoundUp(bytes);
    return given;
  }
  auto* const memory = static_cast<uint8_t*>(std::malloc(RoundUp(bytes) + kAlignment));
  if (memory == nullptr) Fail("no memory for " + std::to_string(bytes) + " bytes");
  const auto address = reinterpret_cast<uintptr_t>(memory);
  return memory + (kAlignment - address % kAlignment) % kAlignment;
}

struct Bytes {
  uint8_t* data;
  size_t size;
};

Bytes ReadFile(const char* path) {
  const long size = board_read_file(path, nullptr, 0);
  if (size < 0) Fail(std::string("cannot read ") + path);
  const Bytes file = {Allocate(static_cast<size_t>(size)), static_cast<size_t>(size)};
  if (board_read_file(path, file.data, file.size) != size) Fail(std::string("cannot read ") + path);
  return file;
}

/// The array of a .npy file (NumPy's format, versions 1 and 2).
Bytes ArrayOf(const Bytes& file, const char* path) {
  if (file.size < 12 || std::memcmp(file.data, "\x93NUMPY", 6) != 0)
    Fail(std::string("no .npy file: ") + path);
  const size_t start =
      file.data[6] == 1 ? size_t{10} + file.data[8] + 256U * file.data[9]
                        : size_t{12} + file.data[8] + 256U * file.data[9] + 65536U * file.data[10];
  if (start > file.size) Fail(std::string("no .npy file: ") + path);
  return {file.data + start, file.size - start};
}

const tenon_backends& Backends() {
  static std::vector<const tenon_kernel*> addresses;
  for (const tenon::KernelList& group :
       {tenon::cpu::CortexMKernels(), tenon::cpu::PortableKernels()}) {
    for (const tenon::KernelEntry& kernel : group)
      addresses.push_back(reinterpret_cast<const tenon_kernel*>(&kernel));
  }
  static const tenon_backend cpu = {
      "cpu", nullptr, addresses.data(), addresses.size(), {nullptr, nullptr}, nullptr};
  static const tenon_backend* const list[] = {&cpu};
  static const tenon_backends backends = {list, 1};
  return backends;
}

/// A plan, loaded, and a session of it.
class Runner {
 public:
  /// `by_rows`: inputs that may come by rows have no memory.
  Runner(const Bytes& file, bool by_rows) : by_rows_(by_rows) {
    size_t scratch_bytes = 0;
    size_t state_bytes = 0;
    Check(tenon_plan_scratch_size(file.data, file.size, &scratch_bytes, &error_), "scratch size");
    Check(tenon_plan_state_size(file.data, file.size, &state_bytes, &error_), "state size");
    Check(tenon_plan_load(file.data, file.size, &Backends(), 1, Allocate(state_bytes), state_bytes,
                          Allocate(scratch_bytes), scratch_bytes, &plan_, &error_),
          "load");
    std::printf("memory plan_state %lu scratch %lu\n", Number(state_bytes), Number(scratch_bytes));
    CreateSession();
  }

  size_t input_count() const { return tenon_plan_input_count(plan_); }
  size_t output_count() const { return tenon_plan_output_count(plan_); }

  /// An array of `steps` inputs.
  void SetInput(size_t index, const char* path, size_t steps) {
    tenon_port_info port;
    Check(tenon_plan_input(plan_, index, &port), "input");
    const Bytes array = ArrayOf(ReadFile(path), path);
    if (array.size != port.bytes * steps) Fail(std::string(path) + " is not of the input's size");
    inputs_.push_back({array.data, port.bytes});
  }

  void Run() {
    WriteInputs();
#ifndef TENON_WITHOUT_INPUT_ROWS
    if (by_rows_) {
      given_.assign(inputs_.size(), 0);
      const tenon_row_source source = {GiveRows, this};
      return Check(tenon_session_run_rows(session_, &source, &error_), "run");
    }
#endif
    Check(tenon_session_run(session_, &error_), "run");
  }

  /// The ticks of one run.
  void RunCounted() {
    board_start_ticks();
    const uint64_t start = board_ticks();
    Run();
    PrintTicks(board_ticks() - start);
  }

  void WriteOutput(size_t index, const char* path) {
    tenon_port_info port;
    Check(tenon_plan_output(plan_, index, &port), "output");
    if (board_write_file(path, tenon_session_output(session_, index), port.bytes) != 0)
      Fail(std::string("cannot write ") + path);
  }

  /// Runs step after step; returns the outputs of all.
  std::vector<Bytes> RunSteps(size_t steps) {
    std::vector<Bytes> outputs;
    for (size_t i = 0; i < output_count(); ++i) {
      tenon_port_info port;
      Check(tenon_plan_output(plan_, i, &port), "output");
      outputs.push_back({Allocate(port.bytes * steps), port.bytes});
    }
    for (size_t step = 0; step < steps; ++step) {
      Run();
      for (Bytes& input : inputs_) input.data += input.size;
      for (size_t i = 0; i < outputs.size(); ++i) {
        std::memcpy(outputs[i].data + step * outputs[i].size, tenon_session_output(session_, i),
                    outputs[i].size);
      }
    }
    return outputs;
  }

  /// The fewest and the most ticks of `runs` inferences on random bytes.
  void RunOnRandomInputs(int runs) {
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    uint64_t random = 0x9E3779B97F4A7C15U;
    for (int i = 0; i < runs; ++i) {
      for (const Bytes& input : inputs_) {
        for (size_t k = 0; k < input.size; ++k) {
          random ^= random << 13;
          random ^= random >> 7;
          random ^= random << 17;
          input.data[k] = static_cast<uint8_t>(random >> 24);
        }
      }
      WriteInputs();
      board_start_ticks();  // so that the clock's own interrupts come at the same moments
      const uint64_t start = board_ticks();
      Check(tenon_session_run(session_, &error_), "run");
      const uint64_t ticks = board_ticks() - start;
      if (ticks < least) least = ticks;
      if (ticks > most) most = ticks;
    }
    std::printf("runs %d least %llu most %llu\n", runs, static_cast<unsigned long long>(least),
                static_cast<unsigned long long>(most));
  }

  /// A line of ticks for each op.
  void RunTraced() {
    board_start_ticks();
    ticks_.assign(tenon_plan_op_count(plan_), 0);
    tenon_trace trace = {};
    trace.context = this;
    trace.clock_nanoseconds = [](void*) { return board_ticks(); };
    trace.record = [](void* self, size_t op, uint64_t ticks) {
      static_cast<Runner*>(self)->ticks_[op] += ticks;
    };
    WriteInputs();
    const uint64_t start = board_ticks();
    Check(tenon_session_run_traced(session_, &trace, &error_), "traced run");
    const uint64_t end = board_ticks();
    for (size_t i = 0; i < ticks_.size(); ++i) {
      tenon_op_info op;
      Check(tenon_plan_op(plan_, i, &op), "op");
      std::printf("op %lu ticks %llu kernel %s kind %s name %s\n", Number(i),
                  static_cast<unsigned long long>(ticks_[i]), op.kernel, op.kind, op.name);
    }
    PrintTicks(end - start);
  }

 private:
  static void PrintTicks(uint64_t ticks) {
    std::printf("run ticks %llu\n", static_cast<unsigned long long>(ticks));
  }

  void Check(tenon_status status, const char* what) {
    if (status != TENON_OK) Fail(what, status, &error_);
  }

  void CreateSession() {
    std::vector<tenon_memory> arenas;
    for (size_t i = 0; i < tenon_plan_arena_count(plan_); ++i) {
      tenon_arena_info arena;
      Check(tenon_plan_arena(plan_, i, &arena), "arena");
      if (arena.alignment > kAlignment) Fail("an arena wants to be aligned to more than 64 bytes");
      if (by_rows_ && std::strncmp(arena.space, "rows:", 5) == 0) {
        arenas.push_back({nullptr, 0});
      } else {
        arenas.push_back({Allocate(arena.bytes, true), arena.bytes});
      }
      std::printf("arena %s %lu\n", arena.space, Number(arena.bytes));
    }
    const size_t bytes = tenon_session_state_size(plan_);
    Check(tenon_session_create(plan_, Allocate(bytes), bytes, arenas.data(), arenas.size(),
                               &session_, &error_),
          "session");
    std::printf("memory session_state %lu\n", Number(bytes));
  }

  void WriteInputs() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      void* const memory = tenon_session_input(session_, i);
      if (memory != nullptr) std::memcpy(memory, inputs_[i].data, inputs_[i].size);
    }
  }

  /// A tenon_row_source.
  static int32_t GiveRows(void* self, size_t input, void* rows, size_t bytes) {
    auto* const runner = static_cast<Runner*>(self);
    const Bytes& all = runner->inputs_[input];
    size_t& given = runner->given_[input];
    if (bytes > all.size - given) return 1;
    std::memcpy(rows, all.data + given, bytes);
    given += bytes;
    return 0;
  }

  tenon_plan* plan_ = nullptr;
  tenon_session* session_ = nullptr;
  tenon_error error_ = {};
  bool by_rows_;
  std::vector<Bytes> inputs_;
  std::vector<size_t> given_;  ///< by input: bytes of rows handed in
  std::vector<uint64_t> ticks_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool ticks = argc > 1 && std::strcmp(argv[1], "--ticks") == 0;
  const bool ops = argc > 1 && std::strcmp(argv[1], "--ops") == 0;
  const bool several = argc > 2 && std::strcmp(argv[1], "--runs") == 0;
  const bool random = argc > 2 && std::strcmp(argv[1], "--random") == 0;
  const bool stream = argc > 2 && std::strcmp(argv[1], "--steps") == 0;
  const bool counted = several || random || stream;
  const int runs = counted ? std::atoi(argv[2]) : 1;
  const int options = ops || ticks ? 1 : counted ? 2 : 0;
  const auto count = static_cast<size_t>(argc - 1 - options);
  char** const files = argv + 1 + options;
  if (argc < 2 + options || runs < 1) {
    Fail(
        "usage: firmware_runner [--ticks | --ops | --runs N | --random N | --steps N] PLAN "
        "[INPUT...] [OUTPUT...]");
  }
  Runner runner(ReadFile(files[0]), /*by_rows=*/!ops && !random);
  const size_t inputs = runner.input_count();
  const size_t outputs = runner.output_count();
  if (count != 1 + inputs + outputs) {
    Fail("the plan has " + std::to_string(inputs) + " inputs and " + std::to_string(outputs) +
         " outputs: give a file for each");
  }
  const auto steps = static_cast<size_t>(stream ? runs : 1);
  for (size_t i = 0; i < inputs; ++i) runner.SetInput(i, files[1 + i], steps);
  if (stream) {
    const std::vector<Bytes> made = runner.RunSteps(steps);
    for (size_t i = 0; i < outputs; ++i) {
      if (board_write_file(files[1 + inputs + i], made[i].data, made[i].size * steps) != 0)
        Fail(std::string("cannot write ") + files[1 + inputs + i]);
    }
    return 0;
  }
  if (ticks) runner.RunCounted();
  for (int i = 0; i < (random ? 1 : runs) && !ticks; ++i) runner.Run();
  std::printf("memory stack %lu\n", Number(board_stack_used()));
  for (size_t i = 0; i < outputs; ++i) runner.WriteOutput(i, files[1 + inputs + i]);
  if (ops) runner.RunTraced();
  if (random) runner.RunOnRandomInputs(runs);
  return 0;
}
