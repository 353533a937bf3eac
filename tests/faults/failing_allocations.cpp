// A program of the runtime alone whose n-th allocation fails, for any n.
//
//   failing_allocations                 allocates nothing: reaching main is the test, of a build
//                                       with TENON_RUNTIME_ALONE
//   failing_allocations PLAN [STEP]     for every STEP-th n, opens the plan, runs a session and a
//                                       stream of it, and closes them, in a process of its own
//
// TENON_FAIL_AT=N: the N-th allocation of the process fails, those before main counted. Without it
// the first form prints how many there were before main.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "tenon/stream.h"
#include "tenon/tenon.h"

extern "C" {
extern char** environ;
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<long> allocations{0};
std::atomic<long> fail_at{-1};  // -1: not read yet, 0: never

/// By hand: this runs before constructors have.
long FailAt() {
  if (fail_at < 0) {
    long value = 0;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      if (std::strncmp(*entry, "TENON_FAIL_AT=", 14) == 0) value = std::atol(*entry + 14);
    }
    fail_at = value;
  }
  return fail_at;
}

bool Fails() {
  const long number = ++allocations;
  if (number != FailAt()) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) { return Fails() ? nullptr : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return Fails() ? nullptr : __libc_calloc(count, bytes); }
void* realloc(void* memory, size_t bytes) {
  return Fails() ? nullptr : __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return Fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

}  // extern "C"

namespace {

#ifndef TENON_RUNTIME_ALONE
constexpr uint64_t kMinute = uint64_t{60} * 1000 * 1000 * 1000;

/// What all calls gave: OK, or that memory was short.
struct Outcome {
  bool is_short = false;
  bool is_wrong = false;

  bool Take(tenon_status status, const char* call) {
    if (status == TENON_OK) return true;
    is_short |= status == TENON_OUT_OF_MEMORY;
    if (status != TENON_OUT_OF_MEMORY && status != TENON_BACKEND_FAILURE) {
      std::fprintf(stderr, "%s: %s\n", call, tenon_status_text(status));
      is_wrong = true;
    }
    return false;
  }
};

void RunSession(const tenon_plan* plan, Outcome& outcome) {
  tenon_session* session = nullptr;
  if (outcome.Take(tenon_session_open(plan, &session, nullptr), "session_open")) {
    for (int i = 0; i < 2; ++i) outcome.Take(tenon_session_run(session, nullptr), "session_run");
  }
  tenon_session_close(session);
}

/// The memory of ports, which is not taken while allocations fail.
struct Ports {
  std::vector<std::vector<char>> memory;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

void RunStream(const tenon_plan* plan, Ports& ports, Outcome& outcome) {
  tenon_stream* stream = nullptr;
  if (outcome.Take(tenon_stream_open(plan, nullptr, &stream, nullptr), "stream_open")) {
    uint64_t ticket = 0;
    if (outcome.Take(tenon_stream_submit(stream, ports.inputs.data(), ports.outputs.data(), kMinute,
                                         &ticket, nullptr),
                     "stream_submit")) {
      outcome.Take(tenon_stream_wait(stream, ticket, kMinute, nullptr), "stream_wait");
    }
  }
  tenon_stream_close(stream);
}

Ports PortsOf(const tenon_plan* plan) {
  Ports ports;
  tenon_port_info info;
  const auto add = [&] {
    ports.memory.emplace_back(info.bytes + 64);
    auto* data = ports.memory.back().data();
    return data + (64 - reinterpret_cast<uintptr_t>(data) % 64) % 64;
  };
  for (size_t i = 0; tenon_plan_input(plan, i, &info) == TENON_OK; ++i)
    ports.inputs.push_back(add());
  for (size_t i = 0; tenon_plan_output(plan, i, &info) == TENON_OK; ++i)
    ports.outputs.push_back(add());
  return ports;
}

/// 0: well, 1: a status that says something else than what was wrong, 2: it was never reached.
int TryAt(const char* path, Ports& ports, long number) {
  const tenon_backend* backend = tenon_backend_cpu();
  const tenon_backends backends{&backend, 1};
  Outcome outcome;
  allocations = 0;
  fail_at = number;
  tenon_plan* plan = nullptr;
  if (outcome.Take(tenon_plan_open(path, &backends, 2, &plan, nullptr), "plan_open")) {
    RunSession(plan, outcome);
    RunStream(plan, ports, outcome);
  }
  tenon_plan_close(plan);
  const bool reached = allocations >= number;
  fail_at = 0;
  if (outcome.is_wrong) return 1;
  return reached ? 0 : 2;
}

int TryAll(const char* path, long step) {
  const tenon_backend* backend = tenon_backend_cpu();
  const tenon_backends backends{&backend, 1};
  tenon_plan* plan = nullptr;
  if (tenon_plan_open(path, &backends, 2, &plan, nullptr) != TENON_OK) return 1;
  Ports ports = PortsOf(plan);
  tenon_plan_close(plan);
  int failures = 0;
  for (long number = 1;; number += step) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(TryAt(path, ports, number));
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
      std::printf("%ld allocations failed one by one, %d wrongly\n", (number - 1) / step, failures);
      return failures == 0 ? 0 : 1;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      std::printf("allocation %ld: %s %d\n", number, WIFSIGNALED(status) ? "signal" : "exit",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      if (++failures == 20) return 1;
    }
  }
}

#endif  // TENON_RUNTIME_ALONE

}  // namespace

int main(int argc, char** argv) {
  const long before_main = allocations;
  fail_at = 0;
#ifndef TENON_RUNTIME_ALONE
  if (argc > 1) return TryAll(argv[1], argc > 2 ? std::atol(argv[2]) : 1);
#endif
  std::printf("%ld\n", before_main);
  return argc == 1 && argv[0] != nullptr ? 0 : 1;
}
