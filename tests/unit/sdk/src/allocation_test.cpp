// Nothing of ours uses the heap during a run. Counts through malloc and operator new of this
// program; what libraries take inside a call is counted apart and printed.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>

#include "backends/cpu/kernels/held_block.hpp"
#include "tests/unit/sdk/src/dealt_program.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define TENON_COUNTS_ALLOCATIONS 0  // the sanitizer has its own malloc
#else
#define TENON_COUNTS_ALLOCATIONS 1
#endif

namespace tenon::test {
namespace {

/// Who allocated while counting was on. Fixed in size: this runs inside malloc.
struct Counter {
  static constexpr size_t kMost = 4096;
  std::atomic<bool> on{false};
  std::atomic<size_t> count{0};
  const void* callers[kMost] = {};

  void Note(const void* caller) {
    if (!on.load(std::memory_order_relaxed)) return;
    const size_t index = count.fetch_add(1);
    if (index < kMost) callers[index] = caller;
  }
};
Counter counter;

/// Bytes asked for and not yet given back, of blocks that came while it was on. One thread only.
struct Ledger {
  static constexpr size_t kMost = 1U << 16U;
  bool on = false;
  bool full = false;
  size_t bytes = 0;
  struct Entry {
    const void* memory;
    size_t bytes;
  } entries[kMost] = {};

  void Add(const void* memory, size_t size) {
    if (!on || memory == nullptr) return;
    for (Entry& entry : entries) {
      if (entry.memory != nullptr) continue;
      entry = {memory, size};
      bytes += size;
      return;
    }
    full = true;
  }
  void Remove(const void* memory) {
    if (!on || memory == nullptr) return;
    for (Entry& entry : entries) {
      if (entry.memory != memory) continue;
      bytes -= entry.bytes;
      entry = {};
      return;
    }
  }
};
Ledger ledger;

[[maybe_unused]] void* Noted(void* memory, size_t bytes) {
  ledger.Add(memory, bytes);
  return memory;
}

}  // namespace
}  // namespace tenon::test

#if TENON_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);

void* malloc(size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  return tenon::test::Noted(__libc_malloc(bytes), bytes);
}
void free(void* memory) {
  tenon::test::ledger.Remove(memory);
  __libc_free(memory);
}
void* calloc(size_t count, size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  return tenon::test::Noted(__libc_calloc(count, bytes), count * bytes);
}
void* realloc(void* memory, size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  tenon::test::ledger.Remove(memory);
  return tenon::test::Noted(__libc_realloc(memory, bytes), bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  return tenon::test::Noted(__libc_memalign(alignment, bytes), bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  *memory = tenon::test::Noted(__libc_memalign(alignment, bytes), bytes);
  return *memory == nullptr ? 12 : 0;  // ENOMEM
}
}  // extern "C"

void* operator new(size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  if (void* memory = __libc_malloc(bytes)) return tenon::test::Noted(memory, bytes);
  std::abort();
}
void* operator new[](size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  if (void* memory = __libc_malloc(bytes)) return tenon::test::Noted(memory, bytes);
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace tenon::test {
namespace {

std::string FileOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "?";
}

struct Allocations {
  size_t ours = 0;
  size_t others = 0;
  std::set<std::string> files;
};

/// Allocations during one run, after two that let libraries settle.
Allocations DuringRun(bool portable, int threads) {
  const LoadedForTest plan(PlanOf(kSmallModel, portable), threads,
                           portable ? tenon_backend_cpu_portable() : tenon_backend_cpu());
  const SessionForTest session(plan);
  for (int i = 0; i < 2; ++i) REQUIRE(tenon_session_run(session.get(), nullptr) == TENON_OK);
  counter.count = 0;
  counter.on = true;
  const tenon_status status = tenon_session_run(session.get(), nullptr);
  counter.on = false;
  REQUIRE(status == TENON_OK);
  Allocations result;
  const std::string program = FileOf(reinterpret_cast<const void*>(&DuringRun));
  for (size_t i = 0; i < std::min<size_t>(counter.count, Counter::kMost); ++i) {
    const std::string file = FileOf(counter.callers[i]);
    ++(file == program ? result.ours : result.others);
    result.files.insert(file);
  }
  return result;
}

TEST_CASE("Allocation counter: sees malloc and operator new") {
  if (TENON_COUNTS_ALLOCATIONS == 0) {
    MESSAGE("skipped: sanitizers bring their own malloc");
    return;
  }
  counter.count = 0;
  counter.on = true;
  void* volatile from_malloc = std::malloc(10);
  auto* volatile from_new = new int(3);
  counter.on = false;
  std::free(from_malloc);
  delete from_new;
  CHECK(counter.count == 2);
}

TEST_CASE("tenon_session_run: the portable kernels never touch the heap") {
  const Allocations allocations = DuringRun(/*portable=*/true, 1);
  CHECK(allocations.ours == 0);
  CHECK(allocations.others == 0);
}

TEST_CASE("tenon_session_run: with every kernel, nothing of ours touches the heap") {
  for (const int threads : {1, 2}) {
    const Allocations allocations = DuringRun(/*portable=*/false, threads);
    CHECK(allocations.ours == 0);
    std::string files;
    for (const std::string& file : allocations.files) files += " " + file;
    MESSAGE(threads << " thread(s): " << allocations.others << " allocations by libraries"
                    << files);
  }
}

/// Convolutions of every kind that our own kernels pack weights for, and a product.
constexpr const char* kPackedModel = R"(graph packed
input %x as "x": f32[1,3,16,16]
const %first: f32[20,3,3,3] = random(1)
const %wide: f32[24,20,3,3] = random(2)
const %depth: f32[24,1,3,3] = random(3)
const %point: f32[10,24,1,1] = random(4)
const %matrix: f32[10,7] = random(5)
const %bias: f32[24] = random(6)
%a = conv(%x, %first) {pads=[1,1,1,1]}
%b = conv(%a, %wide, %bias) {pads=[1,1,1,1]}
%c = conv(%b, %depth, %bias) {group=24, pads=[1,1,1,1]}
%d = conv(%c, %point)
%e = reduce(%d) {function=mean, axes_mask=12, keep_dims=0}
%y = matmul(%e, %matrix)
output %y as "y"
)";

TEST_CASE("Packed bytes: what kernels say they hold is every byte that they hold") {
  if (TENON_COUNTS_ALLOCATIONS == 0) {
    MESSAGE("skipped: sanitizers bring their own malloc");
    return;
  }
  const PlanBytes file(PlanOf(kPackedModel, /*portable=*/false));
  size_t scratch_bytes = 0;
  size_t state_bytes = 0;
  REQUIRE(tenon_plan_scratch_size(file.data(), file.size(), &scratch_bytes, nullptr) == TENON_OK);
  REQUIRE(tenon_plan_state_size(file.data(), file.size(), &state_bytes, nullptr) == TENON_OK);
  Memory scratch = MakeMemory(scratch_bytes);
  Memory state = MakeMemory(state_bytes);
  const tenon_backend* backend = tenon_backend_cpu();
  const tenon_backends backends{&backend, 1};
  tenon_plan* plan = nullptr;
  ledger.on = true;
  const tenon_status status =
      tenon_plan_load(file.data(), file.size(), &backends, 1, state.data(), state_bytes,
                      scratch.data(), scratch_bytes, &plan, nullptr);
  const size_t after_load = ledger.bytes + cpu::BytesInChunks();
  ledger.on = false;
  REQUIRE(status == TENON_OK);
  for (size_t i = 0; i < tenon_plan_op_count(plan); ++i) {
    tenon_op_info op;
    REQUIRE(tenon_plan_op(plan, i, &op) == TENON_OK);
    REQUIRE(std::strstr(op.kernel, "onednn") == nullptr);  // whose own objects are not counted
  }
  Memory session_state = MakeMemory(tenon_session_state_size(plan));
  tenon_arena_info arena;
  REQUIRE(tenon_plan_arena(plan, 0, &arena) == TENON_OK);
  const size_t arena_bytes = (arena.bytes + 63) / 64 * 64;
  const tenon_memory memory{std::aligned_alloc(arena.alignment, arena_bytes), arena_bytes};
  tenon_session* session = nullptr;
  ledger.on = true;
  const tenon_status opened = tenon_session_create(
      plan, session_state.data(), tenon_session_state_size(plan), &memory, 1, &session, nullptr);
  const size_t after_open = ledger.bytes + cpu::BytesInChunks();
  ledger.on = false;
  REQUIRE(opened == TENON_OK);
  CHECK(tenon_plan_packed_bytes(plan) > 20 * 3 * 9 * sizeof(float));
  CHECK(after_load == tenon_plan_packed_bytes(plan));
  CHECK(after_open - after_load == tenon_session_packed_bytes(session));
  ledger.on = true;
  tenon_session_destroy(session);
  tenon_plan_unload(plan);
  ledger.on = false;
  CHECK(ledger.bytes + cpu::BytesInChunks() == 0);
  CHECK_FALSE(ledger.full);
  std::free(memory.data);
}

/// Allocations of ours while a stream that is open takes 20 inputs and gives their outcomes.
size_t DuringStream(const tenon_plan* plan, const tenon_stream_options& options,
                    const std::vector<std::vector<std::byte>>& inputs) {
  const StreamForTest stream(plan, options);
  Job job = JobFor(plan, inputs);
  std::vector<const void*> input_addresses;
  std::vector<void*> output_addresses;
  for (const auto& input : job.inputs) input_addresses.push_back(input.data());
  for (auto& output : job.outputs) output_addresses.push_back(output.data());
  bool is_well = true;
  const auto run = [&] {
    uint64_t ticket = 0;
    is_well &= tenon_stream_submit(stream.get(), input_addresses.data(), output_addresses.data(),
                                   kMinute, &ticket, nullptr) == TENON_OK;
    is_well &= tenon_stream_wait(stream.get(), ticket, kMinute, nullptr) == TENON_OK;
  };
  for (int i = 0; i < 5; ++i) run();
  counter.count = 0;
  counter.on = true;
  for (int i = 0; i < 20; ++i) run();
  counter.on = false;
  CHECK(is_well);
  return counter.count;
}

TEST_CASE("Streams: handing in, running and waiting never touch the heap") {
  const auto small = RandomInputs(*converter::ParseGraph(kSmallModel), 1);
  const LoadedForTest plan(PlanOf(kSmallModel, /*portable=*/true));
  CHECK(DuringStream(plan.get(), OptionsOf(TENON_STREAM_SEQUENTIAL, 2), small) == 0);
  const LoadedForTest workers(SmallProgram(3, 1).Plan());
  CHECK(DuringStream(workers.get(), OptionsOf(TENON_STREAM_INTER), small) == 0);
  const LoadedForTest pipeline(AdderPipeline(2, 2).Write());
  CHECK(DuringStream(pipeline.get(), OptionsOf(TENON_STREAM_PIPELINE), AdderInputs(1)) == 0);
}

/// Heap bytes that opening takes, and what the stream says of itself.
struct StreamMemory {
  size_t heap = 0;
  tenon_stream_stats stats{};
};

StreamMemory MemoryOf(const tenon_plan* plan, size_t replicas) {
  StreamMemory memory;
  const tenon_stream_options options = OptionsOf(TENON_STREAM_SEQUENTIAL, replicas);
  tenon_stream* stream = nullptr;
  ledger.bytes = 0;
  ledger.on = true;
  const tenon_status status = tenon_stream_open(plan, &options, &stream, nullptr);
  memory.heap = ledger.bytes;
  ledger.on = false;
  REQUIRE(status == TENON_OK);
  CHECK_FALSE(ledger.full);
  REQUIRE(tenon_stream_get_stats(stream, &memory.stats) == TENON_OK);
  tenon_stream_close(stream);
  for (auto& entry : ledger.entries) entry = {};
  ledger.bytes = 0;
  return memory;
}

TEST_CASE("Replicas: each takes an arena and its own state, and none of the packed weights") {
  if (TENON_COUNTS_ALLOCATIONS == 0) {
    MESSAGE("skipped: sanitizers bring their own malloc");
    return;
  }
  const LoadedForTest plan(PlanOf(kPackedModel, /*portable=*/false), 1, tenon_backend_cpu());
  tenon_arena_info arena;
  REQUIRE(tenon_plan_arena_count(plan.get()) == 1);
  REQUIRE(tenon_plan_arena(plan.get(), 0, &arena) == TENON_OK);
  const size_t packed = tenon_plan_packed_bytes(plan.get());
  const StreamMemory one = MemoryOf(plan.get(), 1);
  const StreamMemory four = MemoryOf(plan.get(), 4);
  CHECK(tenon_plan_packed_bytes(plan.get()) == packed);
  CHECK(one.stats.arena_bytes == arena.bytes);
  CHECK(four.stats.arena_bytes == 4 * arena.bytes);
  // What a thread takes of the heap for itself, and what rounds blocks up, the stream cannot know.
  constexpr size_t kPerReplica = 2048;
  for (const StreamMemory& memory : {one, four}) {
    const size_t said = memory.stats.arena_bytes + memory.stats.other_bytes;
    CHECK(memory.heap >= memory.stats.arena_bytes);
    CHECK(memory.heap <= said + memory.stats.replicas * kPerReplica);
    CHECK(said <= memory.heap + memory.stats.replicas * kPerReplica);
  }
  CHECK(four.heap - one.heap <
        3 * (arena.bytes + packed));  // had each packed its own, it were more
}

}  // namespace
}  // namespace tenon::test
