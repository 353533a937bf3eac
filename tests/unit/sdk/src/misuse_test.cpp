// Whatever the caller gets wrong comes back as a status and words.
#include <cstring>
#include <limits>

#include "runtime/backend_api/backend.hpp"
#include "tests/unit/sdk/src/plan_of_testing.hpp"

namespace tenon::test {
namespace {

/// Arguments of tenon_plan_load that are right; a test spoils one.
struct LoadArguments {
  LoadArguments() {
    REQUIRE(tenon_plan_scratch_size(bytes, size, &scratch_size, nullptr) == TENON_OK);
    REQUIRE(tenon_plan_state_size(bytes, size, &state_size, nullptr) == TENON_OK);
    scratch_memory = MakeMemory(scratch_size);
    state_memory = MakeMemory(state_size);
    scratch = scratch_memory.data();
    state = state_memory.data();
  }
  tenon_status Load() {
    const tenon_status status = tenon_plan_load(bytes, size, backends, threads, state, state_size,
                                                scratch, scratch_size, &plan, &error);
    if (status != TENON_OK) CHECK(plan == nullptr);
    tenon_plan_unload(plan);
    return status;
  }

  PlanBytes file{PlanOf(kSmallModel)};
  const void* bytes = file.data();
  size_t size = file.size();
  const tenon_backend* backend = tenon_backend_cpu_portable();
  tenon_backends list{&backend, 1};
  const tenon_backends* backends = &list;
  int32_t threads = 1;
  size_t scratch_size = 0;
  size_t state_size = 0;
  Memory scratch_memory;
  Memory state_memory;
  void* scratch = nullptr;
  void* state = nullptr;
  tenon_plan* plan = nullptr;
  tenon_error error{};
};

TEST_CASE("tenon_plan_load: right arguments load") { CHECK(LoadArguments().Load() == TENON_OK); }

TEST_CASE("tenon_plan_load: every NULL is named") {
  for (const char* which : {"backends", "backends.list", "state", "scratch"}) {
    LoadArguments arguments;
    const std::string name = which;
    if (name == "backends") arguments.backends = nullptr;
    if (name == "backends.list") arguments.list.list = nullptr;
    if (name == "state") arguments.state = nullptr;
    if (name == "scratch") arguments.scratch = nullptr;
    CheckFailed(arguments.Load(), TENON_INVALID_ARGUMENT, arguments.error, name);
  }
  LoadArguments arguments;
  arguments.backend = nullptr;
  CheckFailed(arguments.Load(), TENON_INVALID_ARGUMENT, arguments.error, "backend");
  LoadArguments no_bytes;
  no_bytes.bytes = nullptr;
  CHECK(no_bytes.Load() == TENON_INVALID_ARGUMENT);
  LoadArguments no_plan;
  CHECK(tenon_plan_load(no_plan.bytes, no_plan.size, no_plan.backends, 1, no_plan.state,
                        no_plan.state_size, no_plan.scratch, no_plan.scratch_size, nullptr,
                        nullptr) == TENON_INVALID_ARGUMENT);
}

TEST_CASE("tenon_plan_load: misaligned memory is refused") {
  LoadArguments state;
  state.state = static_cast<char*>(state.state) + 4;
  CheckFailed(state.Load(), TENON_INVALID_ARGUMENT, state.error, "'state' must be aligned to 16");
  LoadArguments scratch;
  scratch.scratch = static_cast<char*>(scratch.scratch) + 8;
  CheckFailed(scratch.Load(), TENON_INVALID_ARGUMENT, scratch.error, "'scratch' must be aligned");
  LoadArguments bytes;
  bytes.bytes = static_cast<const char*>(bytes.bytes) + 1;
  bytes.size -= 1;
  CHECK(bytes.Load() == TENON_INVALID_ARGUMENT);
}

TEST_CASE("tenon_plan_load: memory one byte too small is refused with the size that is needed") {
  LoadArguments state;
  const std::string needed = std::to_string(state.state_size) + " are needed";
  state.state_size -= 1;
  CheckFailed(state.Load(), TENON_OUT_OF_MEMORY, state.error, needed);
  LoadArguments scratch;
  scratch.scratch_size -= 1;
  CheckFailed(scratch.Load(), TENON_OUT_OF_MEMORY, scratch.error, "'scratch' has");
}

TEST_CASE("tenon_plan_load: thread counts that make no sense are refused") {
  for (const int32_t threads :
       {0, -1, 1025, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    LoadArguments arguments;
    arguments.threads = threads;
    CheckFailed(arguments.Load(), TENON_INVALID_ARGUMENT, arguments.error, "threads asked for");
  }
}

TEST_CASE("tenon_plan_load: a plan without its backend says which it needs") {
  LoadArguments arguments;
  arguments.list.count = 0;
  CheckFailed(arguments.Load(), TENON_UNSUPPORTED, arguments.error, "'cpu'");
}

TEST_CASE("tenon_plan_load: a plan whose kernels were not linked says which board it is for") {
  const Backend none{"cpu", KernelList(), nullptr, nullptr};
  LoadArguments arguments;
  arguments.backend = reinterpret_cast<const tenon_backend*>(&none);
  CheckFailed(arguments.Load(), TENON_UNSUPPORTED, arguments.error, "for this board, not 'x86");
  CheckFailed(arguments.Load(), TENON_UNSUPPORTED, arguments.error, "link the plan's kernels");
}

TEST_CASE("tenon_plan_load: a plan cut off anywhere is refused") {
  LoadArguments whole;
  for (size_t size = 0; size < whole.size; size += 13) {
    LoadArguments arguments;
    arguments.size = size;
    CHECK(arguments.Load() != TENON_OK);
    CHECK(arguments.error.message[0] != '\0');
  }
}

TEST_CASE("tenon_plan_check: misuse is refused, and violations go to the caller") {
  LoadArguments arguments;
  const auto check = [&](void* scratch, size_t size) {
    return tenon_plan_check(arguments.bytes, arguments.size, scratch, size, nullptr, nullptr,
                            &arguments.error);
  };
  CHECK(check(arguments.scratch, arguments.scratch_size) == TENON_OK);
  CheckFailed(check(nullptr, 0), TENON_INVALID_ARGUMENT, arguments.error, "scratch");
  CheckFailed(check(arguments.scratch, 1), TENON_OUT_OF_MEMORY, arguments.error, "scratch");
  int reports = 0;
  const tenon_status status = tenon_plan_check(
      "nonsense nonsense", 16, arguments.scratch, arguments.scratch_size,
      [](void* context, const char* words) {
        CHECK(std::strlen(words) > 0);
        ++*static_cast<int*>(context);
      },
      &reports, nullptr);
  CHECK(status != TENON_OK);
  CHECK(reports == 1);
}

TEST_CASE("Plan queries: NULL and indices beyond the end give a status, zero or NULL") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  tenon_port_info port;
  tenon_op_info op;
  tenon_arena_info arena;
  CHECK(tenon_plan_input_count(nullptr) == 0);
  CHECK(tenon_plan_op_count(nullptr) == 0);
  CHECK(tenon_session_state_size(nullptr) == 0);
  CHECK(tenon_plan_input(plan.get(), 2, &port) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_plan_output(plan.get(), SIZE_MAX, &port) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_plan_input(plan.get(), 0, nullptr) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_plan_input(nullptr, 0, &port) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_plan_op(plan.get(), tenon_plan_op_count(plan.get()), &op) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_plan_arena(plan.get(), 1, &arena) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_session_input(nullptr, 0) == nullptr);
  CHECK(tenon_session_output(nullptr, 0) == nullptr);
  tenon_plan_unload(nullptr);
  tenon_session_destroy(nullptr);
}

TEST_CASE("Names of statuses and dtypes: numbers that are none have one too") {
  CHECK(std::string(tenon_status_text(TENON_OK)) != tenon_status_text(TENON_IO_ERROR));
  for (const int number : {10, 11, 15}) {
    CHECK(std::string(tenon_status_text(static_cast<tenon_status>(number))) == "unknown status");
  }
  CHECK(tenon_dtype_bytes(TENON_F64) == 8);
  CHECK(tenon_dtype_bytes(static_cast<tenon_dtype>(15)) == 0);
}

TEST_CASE("tenon_session_create: misuse is refused") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const size_t state_size = tenon_session_state_size(plan.get());
  Memory state = MakeMemory(state_size);
  tenon_arena_info info;
  REQUIRE(tenon_plan_arena(plan.get(), 0, &info) == TENON_OK);
  Memory arena = MakeMemory(info.bytes + 2 * info.alignment);
  const auto address = reinterpret_cast<uintptr_t>(arena.data());
  const tenon_memory aligned{reinterpret_cast<char*>(arena.data()) +
                                 (info.alignment - address % info.alignment) % info.alignment,
                             info.bytes};
  const tenon_memory misaligned{static_cast<char*>(aligned.data) + 4, info.bytes};
  const tenon_memory null{nullptr, info.bytes};
  const tenon_memory small{aligned.data, info.bytes - 1};
  tenon_session* session = nullptr;
  tenon_error error;
  const auto create = [&](void* memory, size_t size, const tenon_memory* arenas, size_t count = 1) {
    return tenon_session_create(plan.get(), memory, size, arenas, count, &session, &error);
  };
  CheckFailed(create(nullptr, state_size, &aligned), TENON_INVALID_ARGUMENT, error, "state");
  CheckFailed(create(state.data(), state_size - 1, &aligned), TENON_OUT_OF_MEMORY, error, "state");
  CheckFailed(create(state.data(), state_size, nullptr), TENON_INVALID_ARGUMENT, error, "arenas");
  CheckFailed(create(state.data(), state_size, &null), TENON_INVALID_ARGUMENT, error,
              "arena 0 is null");
  CheckFailed(create(state.data(), state_size, &misaligned), TENON_INVALID_ARGUMENT, error,
              "misaligned");
  CheckFailed(create(state.data(), state_size, &small), TENON_OUT_OF_MEMORY, error,
              std::to_string(info.bytes) + " are needed");
  CheckFailed(create(state.data(), state_size, &aligned, 0), TENON_INVALID_ARGUMENT, error,
              "0 arenas given, the plan has 1");
  CHECK(session == nullptr);
  CheckFailed(
      tenon_session_create(nullptr, state.data(), state_size, &aligned, 1, &session, &error),
      TENON_INVALID_ARGUMENT, error, "plan");
  REQUIRE(create(state.data(), state_size, &aligned) == TENON_OK);
  CHECK(tenon_session_run(session, &error) == TENON_OK);
  tenon_session_destroy(session);
}

TEST_CASE("tenon_session_create: memory that would be used twice is refused") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const size_t state_size = tenon_session_state_size(plan.get());
  tenon_arena_info info;
  REQUIRE(tenon_plan_arena(plan.get(), 0, &info) == TENON_OK);
  Memory memory = MakeMemory(info.bytes + state_size + info.alignment);
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  char* start = reinterpret_cast<char*>(memory.data()) +
                (info.alignment - address % info.alignment) % info.alignment;
  const tenon_memory arena{start, info.bytes};
  tenon_session* session = nullptr;
  tenon_error error;
  for (const size_t offset : {size_t{0}, (info.bytes - 1) / 16 * 16}) {
    CheckFailed(
        tenon_session_create(plan.get(), start + offset, state_size, &arena, 1, &session, &error),
        TENON_INVALID_ARGUMENT, error, "overlaps");
  }
  char* behind = start + (info.bytes + 15) / 16 * 16;
  REQUIRE(tenon_session_create(plan.get(), behind, state_size, &arena, 1, &session, &error) ==
          TENON_OK);
  tenon_session_destroy(session);
}

TEST_CASE("tenon_session_create: memory of the plan or its state is refused") {
  LoadedForTest plan(PlanOf(kSmallModel));
  const size_t state_size = tenon_session_state_size(plan.get());
  const ArenasForTest arenas(plan.get());
  Memory state = MakeMemory(state_size);
  tenon_session* session = nullptr;
  tenon_error error;
  const auto create = [&](void* given_state, size_t bytes, const tenon_memory* given_arenas) {
    return tenon_session_create(plan.get(), given_state, bytes, given_arenas, 1, &session, &error);
  };
  // The plan's state begins with its handle.
  CheckFailed(create(plan.get(), state_size, arenas.data()), TENON_INVALID_ARGUMENT, error,
              "'state' overlaps the plan");
  CheckFailed(create(plan.file().data(), plan.file().size(), arenas.data()), TENON_INVALID_ARGUMENT,
              error, "'state' overlaps the plan");
  tenon_arena_info info;
  REQUIRE(tenon_plan_arena(plan.get(), 0, &info) == TENON_OK);
  for (void* taken : {static_cast<void*>(plan.get()), static_cast<void*>(plan.file().data())}) {
    const uintptr_t start = reinterpret_cast<uintptr_t>(taken) / info.alignment * info.alignment;
    const tenon_memory arena = {reinterpret_cast<void*>(start), info.bytes + info.alignment};
    CheckFailed(create(state.data(), state_size, &arena), TENON_INVALID_ARGUMENT, error,
                "overlaps the plan");
  }
  CHECK(session == nullptr);
  CHECK(tenon_plan_verify(plan.get(), &error) == TENON_OK);
  REQUIRE(create(state.data(), state_size, arenas.data()) == TENON_OK);
  CHECK(tenon_session_run(session, &error) == TENON_OK);
  tenon_session_destroy(session);
}

TEST_CASE("tenon_session_bind_output: memory of the plan or of states is refused") {
  LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  tenon_port_info port;
  REQUIRE(tenon_plan_output(plan.get(), 1, &port) == TENON_OK);
  tenon_error error;
  const void* before = tenon_session_output(session.get(), 1);
  for (void* taken : {static_cast<void*>(plan.get()), static_cast<void*>(session.get()),
                      static_cast<void*>(static_cast<uint8_t*>(plan.file().data()) + 64)}) {
    CheckFailed(tenon_session_bind_output(session.get(), 1, taken, port.bytes, &error),
                TENON_INVALID_ARGUMENT, error, "overlaps the plan");
  }
  CHECK(tenon_session_output(session.get(), 1) == before);
  CHECK(tenon_session_run(session.get(), &error) == TENON_OK);
  // A run only reads inputs: they may be part of the plan's file.
  CHECK(tenon_session_bind_input(session.get(), 0, plan.file().data(), 128, &error) == TENON_OK);
  CHECK(tenon_session_run(session.get(), &error) == TENON_OK);
}

TEST_CASE("Bindings: wrong sizes, alignment and indices are refused") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  std::vector<float> data(64);
  tenon_error error;
  const void* before = tenon_session_input(session.get(), 0);
  const auto bind = [&](size_t index, const void* memory, size_t bytes) {
    return tenon_session_bind_input(session.get(), index, memory, bytes, &error);
  };
  CheckFailed(bind(0, data.data(), 4), TENON_INVALID_ARGUMENT, error, "'image' has 128 bytes");
  CheckFailed(bind(0, reinterpret_cast<char*>(data.data()) + 1, 128), TENON_INVALID_ARGUMENT, error,
              "aligned to 4");
  CheckFailed(bind(2, data.data(), 128), TENON_INVALID_ARGUMENT, error,
              "there is no input or output 2");
  CHECK(tenon_session_bind_output(session.get(), 7, data.data(), 128, &error) ==
        TENON_INVALID_ARGUMENT);
  CHECK(tenon_session_bind_output(session.get(), 1, data.data(), 128, &error) ==
        TENON_INVALID_ARGUMENT);
  CHECK(tenon_session_bind_input(nullptr, 0, data.data(), 128, &error) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_session_input(session.get(), 0) == before);
  CHECK(tenon_session_input(session.get(), 2) == nullptr);
}

TEST_CASE("Runs: NULL sessions and traces are refused") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  tenon_error error;
  const tenon_trace empty{};
  CHECK(tenon_session_run(nullptr, &error) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_session_run_traced(session.get(), nullptr, &error) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_session_run_traced(session.get(), &empty, &error) == TENON_INVALID_ARGUMENT);
  CHECK(tenon_session_run(session.get(), nullptr) == TENON_OK);
}

TEST_CASE("Errors: a success clears the words of the failure before") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan);
  tenon_error error;
  REQUIRE(tenon_session_run(nullptr, &error) != TENON_OK);
  REQUIRE(error.message[0] != '\0');
  REQUIRE(tenon_session_run(session.get(), &error) == TENON_OK);
  CHECK(error.message[0] == '\0');
}

}  // namespace
}  // namespace tenon::test
