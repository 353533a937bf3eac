// The runtime as firmware has it gives the outputs that the host's gives, in the memory that it
// says.
#include <algorithm>
#include <cstring>

#include "runtime/base/config.hpp"
#include "tests/unit/sdk/src/changed_kernels.hpp"
#include "tests/unit/sdk/src/firmware/firmware_testing.hpp"

namespace tenon::test {
namespace {

static_assert(!kHasWorkers && !kHasDevices);

using Arrays = std::vector<std::vector<uint8_t>>;

/// Runs on `arrays`' inputs and compares with the outputs behind them, bit for bit.
void CheckRun(tenon_session* session, const tenon_plan* plan, Arrays arrays, bool bound) {
  const size_t inputs = tenon_plan_input_count(plan);
  const size_t outputs = tenon_plan_output_count(plan);
  REQUIRE(arrays.size() == inputs + outputs);
  std::vector<Memory> memory;
  for (size_t i = 0; i < inputs; ++i) {
    if (bound) {
      Memory& input = memory.emplace_back(MakeMemory(arrays[i].size()));
      if (!arrays[i].empty()) std::memcpy(input.data(), arrays[i].data(), arrays[i].size());
      REQUIRE(tenon_session_bind_input(session, i, input.data(), arrays[i].size(), nullptr) ==
              TENON_OK);
    } else if (!arrays[i].empty()) {
      std::memcpy(tenon_session_input(session, i), arrays[i].data(), arrays[i].size());
    }
  }
  for (size_t i = 0; i < outputs && bound; ++i) {
    const size_t bytes = arrays[inputs + i].size();
    REQUIRE(tenon_session_bind_output(session, i, memory.emplace_back(MakeMemory(bytes)).data(),
                                      bytes, nullptr) == TENON_OK);
  }
  tenon_error error{};
  REQUIRE_MESSAGE(tenon_session_run(session, &error) == TENON_OK, error.message);
  for (size_t i = 0; i < outputs; ++i) {
    const auto* data = static_cast<const uint8_t*>(tenon_session_output(session, i));
    const std::vector<uint8_t>& expected = arrays[inputs + i];
    CHECK(std::vector<uint8_t>(data, data + expected.size()) == expected);
  }
  for (size_t i = 0; i < inputs && bound; ++i) {
    const auto* data = reinterpret_cast<const uint8_t*>(memory[i].data());
    CHECK(std::equal(arrays[i].begin(), arrays[i].end(), data));
    REQUIRE(tenon_session_bind_input(session, i, nullptr, 0, nullptr) == TENON_OK);
  }
  for (size_t i = 0; i < outputs && bound; ++i) {
    REQUIRE(tenon_session_bind_output(session, i, nullptr, 0, nullptr) == TENON_OK);
  }
}

void CheckMadePlan(const MadePlan& made) {
  const LoadedForTest plan(made.plan);
  const SessionForTest session(plan);
  for (const bool bound : {false, true, false}) {
    CheckRun(session.get(), plan.get(), made.arrays, bound);
  }
}

TEST_CASE("One worker: outputs are the host's bit for bit, in arenas and in bound memory") {
  CheckMadePlan(MakePlan(kSmallModel, "--run 1"));
}

TEST_CASE("One worker: so are those of random graphs") {
  for (int seed = 1; seed <= 25; ++seed) {
    CAPTURE(seed);
    CheckMadePlan(RunPlanMaker("x86-64 random " + std::to_string(seed) + " --run 1"));
  }
}

TEST_CASE("One worker: so are those of random graphs over two memories") {
  int over_two = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const MadePlan made = RunPlanMaker("two-memories random " + std::to_string(seed) + " --run 1");
    CheckMadePlan(made);
    const LoadedForTest plan(made.plan);
    over_two += tenon_plan_arena_count(plan.get()) == 2 ? 1 : 0;
  }
  CHECK(over_two > 15);
}

size_t StatesOf(const std::string& request, size_t* ops) {
  const LoadedForTest plan(RunPlanMaker(request).plan);
  *ops = tenon_plan_op_count(plan.get());
  return tenon_plan_state_bytes(plan.get()) + tenon_session_state_size(plan.get());
}

TEST_CASE("One worker: states take a byte per op beside what the largest op and the ports take") {
  for (int seed = 1; seed <= 10; ++seed) {
    size_t ops = 0;
    const size_t bytes = StatesOf("x86-64 random " + std::to_string(seed), &ops);
    // 512 bytes where addresses have 32 bits: handles, some 8 ports, 9 operands.
    CHECK(bytes <= ops + 512 * (sizeof(void*) / sizeof(uint32_t)));
  }
}

TEST_CASE("One worker: sessions take turns on one plan, each with its own memory") {
  const MadePlan made = MakePlan(kSmallModel, "--run 1");
  const LoadedForTest plan(made.plan);
  const SessionForTest first(plan);
  const SessionForTest second(plan);
  for (int round = 0; round < 2; ++round) {
    CheckRun(first.get(), plan.get(), made.arrays, /*bound=*/true);
    CheckRun(second.get(), plan.get(), made.arrays, /*bound=*/false);
  }
}

TEST_CASE("One worker: after a kernel's failure the session runs again") {
  static bool fails;
  static Status (*run)(const KernelCall&);
  const ChangedKernels failing([](KernelEntry& entry) {
    if (entry.row->kind != OpKind::kReduce) return;
    run = entry.run;
    entry.run = [](const KernelCall& call) -> Status {
      if (fails) return Status(StatusCode::kBackendFailure, "on purpose");
      return run(call);
    };
  });
  const MadePlan made = MakePlan(kSmallModel, "--run 1");
  const LoadedForTest plan(made.plan, 1, failing.get());
  const SessionForTest session(plan);
  tenon_error error{};
  fails = true;
  CHECK(tenon_session_run(session.get(), &error) == TENON_BACKEND_FAILURE);
  CHECK_MESSAGE(std::string(error.message).find("mean") != std::string::npos, error.message);
  fails = false;
  CheckRun(session.get(), plan.get(), made.arrays, /*bound=*/false);
}

TEST_CASE("One worker: more kernels than a byte counts are refused") {
  const auto* portable = reinterpret_cast<const Backend*>(tenon_backend_cpu_portable());
  std::vector<const KernelEntry*> kernels(257, &portable->kernels[0]);
  const MadePlan made = MakePlan(kSmallModel);
  for (const KernelEntry& entry : portable->kernels) kernels.push_back(&entry);
  const Backend many{"cpu", KernelList(kernels.data(), kernels.size()), nullptr, nullptr};
  tenon_error error{};
  CHECK(LoadWith(made.plan, reinterpret_cast<const tenon_backend*>(&many), &error) ==
        TENON_UNSUPPORTED);
  CHECK_MESSAGE(std::string(error.message).find("256") != std::string::npos, error.message);
}

TEST_CASE("One worker: a clock of the caller's times every op in the plan's order") {
  const MadePlan made = MakePlan(kSmallModel);
  const LoadedForTest plan(made.plan);
  const SessionForTest session(plan);
  struct Ticks {
    uint64_t now = 0;
    std::vector<std::pair<size_t, uint64_t>> ops;
  } ticks;
  tenon_trace trace{};
  trace.context = &ticks;
  trace.clock_nanoseconds = [](void* context) { return static_cast<Ticks*>(context)->now += 5; };
  trace.record = [](void* context, size_t op, uint64_t time) {
    static_cast<Ticks*>(context)->ops.emplace_back(op, time);
  };
  REQUIRE(tenon_session_run_traced(session.get(), &trace, nullptr) == TENON_OK);
  REQUIRE(ticks.ops.size() == tenon_plan_op_count(plan.get()));
  for (size_t i = 0; i < ticks.ops.size(); ++i) {
    CHECK(ticks.ops[i] == std::pair<size_t, uint64_t>(i, 5));
    tenon_op_info info;
    REQUIRE(tenon_plan_op(plan.get(), i, &info) == TENON_OK);
    CHECK(std::string(info.kernel) == info.planned_kernel);
    CHECK(std::string(info.backend) == "cpu");
    CHECK(std::string(info.worker).empty());
  }
}

TEST_CASE("One worker: kernels that need a heap are passed over, and missed if there is no other") {
  const ChangedKernels packing([](KernelEntry& entry) {
    if (entry.row->kind != OpKind::kConv) return;
    entry.load = [](const KernelSetup&, void**) -> Status {
      FAIL("a kernel was loaded");
      return OkStatus();
    };
  });
  tenon_error error{};
  const MadePlan made = MakePlan(kSmallModel);
  CHECK(LoadWith(made.plan, packing.get(), &error) == TENON_UNSUPPORTED);
  CHECK_MESSAGE(std::string(error.message).find("heap") != std::string::npos, error.message);
}

TEST_CASE("One worker: operands that no kernel takes are told with their op") {
  const ChangedKernels refusing([](KernelEntry& entry) {
    if (entry.row->kind == OpKind::kReduce) {
      entry.check = [](const KernelSetup&) {
        return Status(StatusCode::kUnsupported, "not with these operands");
      };
    }
  });
  tenon_error error{};
  const MadePlan made = MakePlan(kSmallModel);
  CHECK(LoadWith(made.plan, refusing.get(), &error) == TENON_UNSUPPORTED);
  CHECK_MESSAGE(std::string(error.message).find("mean") != std::string::npos, error.message);
}

}  // namespace
}  // namespace tenon::test
