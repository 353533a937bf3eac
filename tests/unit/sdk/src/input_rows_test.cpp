// Inputs that a program keeps in memory of its own, or hands in by rows.
#include <cstring>

#include "runtime/ops/functions.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"
#include "tests/unit/sdk/src/loaded_plan_testing.hpp"

namespace tenon::test {
namespace {

constexpr int32_t kRows = 8;
constexpr int32_t kColumns = 4;
constexpr auto kAll = static_cast<size_t>(kRows * kColumns);

/// Copies 2 rows, then 4, then 2, and applies a function to all of them.
PlanSpec ByRows(ArenaUse use = ArenaUse::kRows) {
  PlanSpec spec;
  spec.kernels = {"cpu.copy.portable", "cpu.unary.portable"};
  spec.spaces.emplace_back("rows:in");
  spec.arenas.push_back({4 * kAll, 4, 1, 1, use});
  const uint32_t input = spec.AddStorage(0, 4 * kAll);
  spec.storages[0].index = 1;
  const uint32_t in = spec.AddTensor(input, {kRows, kColumns});
  const uint32_t copied = spec.AddStorage(0, 4 * kAll);
  uint64_t offset = 0;
  for (const int32_t rows : {2, 4, 2}) {
    spec.AddOp({spec.AddTensor(input, {rows, kColumns}, offset)},
               {spec.AddTensor(copied, {rows, kColumns}, offset)});
    spec.ops.back().kind = static_cast<uint16_t>(OpKind::kCopy);
    spec.ops.back().attributes.clear();
    offset += 4 * static_cast<uint64_t>(rows * kColumns);
  }
  const uint32_t out = spec.AddTensor(spec.AddStorage(4 * kAll, 4 * kAll), {kRows, kColumns});
  spec.AddOp({spec.AddTensor(copied, {kRows, kColumns})}, {out});
  spec.ops.back().kernel = 1;
  spec.ops.back().attributes[0] = static_cast<int32_t>(UnaryFunction::kRelu);
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

/// Makes a session with its own memory for arena 0 and the memory given for arena 1.
struct Opened {
  explicit Opened(const PlanSpec& spec, void* input = nullptr, size_t bytes = 0)
      : plan(spec.Write()), arenas(plan.get()), state(MakeMemory(StateBytes())) {
    const tenon_memory given[] = {arenas.data()[0], {input, bytes}};
    status =
        tenon_session_create(plan.get(), state.data(), StateBytes(), given, 2, &session, nullptr);
  }
  [[nodiscard]] size_t StateBytes() const { return tenon_session_state_size(plan.get()); }
  [[nodiscard]] std::vector<float> Output() const {
    const auto* data = static_cast<const float*>(tenon_session_output(session, 0));
    return {data, data + kAll};
  }

  LoadedForTest plan;
  ArenasForTest arenas;
  Memory state;
  tenon_session* session = nullptr;
  tenon_status status = TENON_OK;
};

/// A camera: gives the next bytes of an image, and fails before byte `broken`.
struct Camera {
  Camera() {
    for (size_t i = 0; i < kAll; ++i) image.push_back(static_cast<float>(i + 1));
  }
  static int32_t Next(void* context, size_t input, void* rows, size_t bytes) {
    auto* camera = static_cast<Camera*>(context);
    camera->asked.push_back(bytes);
    if (input != 0 || camera->given + bytes > camera->broken) return 1;
    std::memcpy(rows, reinterpret_cast<const uint8_t*>(camera->image.data()) + camera->given,
                bytes);
    camera->given += bytes;
    return 0;
  }
  [[nodiscard]] tenon_row_source Source() { return {Next, this}; }

  std::vector<float> image;
  std::vector<size_t> asked;
  size_t given = 0;
  size_t broken = SIZE_MAX;
};

TEST_CASE("Rows: they are asked for in order, each once, and need no memory of their own") {
  const Opened opened(ByRows());
  REQUIRE(opened.status == TENON_OK);
  CHECK(tenon_session_input(opened.session, 0) == nullptr);
  for (int run = 0; run < 2; ++run) {
    Camera camera;
    if (run == 1) camera.image.assign(kAll, 7.0F);
    const tenon_row_source source = camera.Source();
    REQUIRE(tenon_session_run_rows(opened.session, &source, nullptr) == TENON_OK);
    CHECK(camera.asked == std::vector<size_t>{32, 64, 32});
    CHECK(opened.Output() == camera.image);
  }
}

TEST_CASE("Rows: a run that nobody hands them in for is refused") {
  const Opened opened(ByRows());
  REQUIRE(opened.status == TENON_OK);
  CHECK(tenon_session_run(opened.session, nullptr) == TENON_FAILED_PRECONDITION);
  CHECK(tenon_session_run_rows(opened.session, nullptr, nullptr) == TENON_INVALID_ARGUMENT);
  const tenon_row_source nobody = {nullptr, nullptr};
  CHECK(tenon_session_run_rows(opened.session, &nobody, nullptr) == TENON_INVALID_ARGUMENT);
}

TEST_CASE("Rows: a source that fails ends the run, and the session can be used again") {
  const Opened opened(ByRows());
  REQUIRE(opened.status == TENON_OK);
  Camera camera;
  camera.broken = 64;
  const tenon_row_source source = camera.Source();
  CHECK(tenon_session_run_rows(opened.session, &source, nullptr) == TENON_IO_ERROR);
  CHECK(camera.asked == std::vector<size_t>{32, 64});
  Camera whole;
  const tenon_row_source again = whole.Source();
  CHECK(tenon_session_run_rows(opened.session, &again, nullptr) == TENON_OK);
  CHECK(opened.Output() == whole.image);
}

TEST_CASE("Rows: an input that has memory is read from there, and nobody is asked") {
  Camera camera;
  const tenon_row_source source = camera.Source();
  SUBCASE("given when the session is made") {
    const Opened opened(ByRows(), camera.image.data(), 4 * kAll);
    REQUIRE(opened.status == TENON_OK);
    CHECK(tenon_session_input(opened.session, 0) == camera.image.data());
    REQUIRE(tenon_session_run(opened.session, nullptr) == TENON_OK);
    CHECK(opened.Output() == camera.image);
    REQUIRE(tenon_session_run_rows(opened.session, &source, nullptr) == TENON_OK);
  }
  SUBCASE("bound") {
    const Opened opened(ByRows());
    REQUIRE(tenon_session_bind_input(opened.session, 0, camera.image.data(), 4 * kAll, nullptr) ==
            TENON_OK);
    REQUIRE(tenon_session_run(opened.session, nullptr) == TENON_OK);
    CHECK(opened.Output() == camera.image);
    REQUIRE(tenon_session_run_rows(opened.session, &source, nullptr) == TENON_OK);
  }
  CHECK(camera.asked.empty());
}

TEST_CASE("Rows: only memory of inputs that come by rows may be missing") {
  CHECK(Opened(ByRows(ArenaUse::kInput)).status == TENON_INVALID_ARGUMENT);
  std::vector<float> small(kAll - 1);
  CHECK(Opened(ByRows(), small.data(), 4 * small.size()).status == TENON_OUT_OF_MEMORY);
}

TEST_CASE("Rows: an input in memory of the caller's own is read where it lies") {
  std::vector<float> image(kAll, 3.0F);
  const Opened opened(ByRows(ArenaUse::kInput), image.data(), 4 * kAll);
  REQUIRE(opened.status == TENON_OK);
  REQUIRE(tenon_session_run(opened.session, nullptr) == TENON_OK);
  CHECK(opened.Output() == image);
  image.assign(kAll, 5.0F);
  REQUIRE(tenon_session_run(opened.session, nullptr) == TENON_OK);
  CHECK(opened.Output() == image);
}

}  // namespace
}  // namespace tenon::test
