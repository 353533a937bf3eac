// Nothing of ours uses the heap during a run. Counts through malloc and operator new of this
// program; what libraries take inside a call is counted apart and printed.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <set>

#include "tests/unit/sdk/sdk_testing.hpp"

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

}  // namespace
}  // namespace tenon::test

#if TENON_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? 12 : 0;  // ENOMEM
}
}  // extern "C"

void* operator new(size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  if (void* memory = __libc_malloc(bytes)) return memory;
  std::abort();
}
void* operator new[](size_t bytes) {
  tenon::test::counter.Note(__builtin_return_address(0));
  if (void* memory = __libc_malloc(bytes)) return memory;
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

}  // namespace
}  // namespace tenon::test
