// Hostile plans, loaded and run with every kernel: a plan is refused, or it runs inside its own
// memory and in the time that its work takes. Meant to be run under ASan and UBSan too: arenas,
// inputs, outputs and the file lie in blocks of exactly their size.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <memory>

#include "converter/ir/text.hpp"
#include "runtime/engine/loaded_plan.hpp"
#include "runtime/ops/op_host_row.hpp"
#include "tests/fuzz/plan_spec_mutation.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_graph.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

/// Plans ask for arenas of any size: an allocation that fails is no error here.
extern "C" const char* __asan_default_options();                                           // NOLINT
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }  // NOLINT

namespace {

constexpr uint64_t kMostArenaBytes = uint64_t{64} << 20;
constexpr int64_t kMostWork = 100'000'000;
constexpr double kMostSeconds = 30;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint8_t, Free>;

/// Exactly `bytes` bytes, so that ASan sees the first one beyond.
Memory Allocate(uint64_t bytes, size_t alignment = 16) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment < 16 ? 16 : alignment, bytes) != 0) return nullptr;
  if (memory != nullptr) std::memset(memory, 0xA5, bytes);
  return Memory(static_cast<uint8_t*>(memory));
}

struct PlanUnloader {
  void operator()(tenon_plan* plan) const { tenon_plan_unload(plan); }
};
struct SessionDestroyer {
  void operator()(tenon_session* session) const { tenon_session_destroy(session); }
};

struct Outcome {
  bool loaded = false;
  bool ran = false;
  std::string error;
  std::vector<std::vector<uint8_t>> outputs;
};

/// Loads a plan and runs it once, with memory of exactly the sizes that it asks for.
class Attempt {
 public:
  Attempt(const std::vector<uint8_t>& file, bool portable)
      : size_(file.size()), file_(Allocate(file.size())), portable_(portable) {
    if (!file.empty()) std::memcpy(file_.get(), file.data(), file.size());
  }

  Outcome Run(uint32_t input_seed) {
    Outcome outcome;
    outcome.loaded = Load() && CheckHeldMemory();
    if (outcome.loaded && IsAffordable() && OpenSession()) {
      Bind(input_seed);
      outcome.ran = tenon_session_run(session_.get(), &error_) == TENON_OK;
      outcome.outputs = std::move(outputs_);
      for (size_t i = 0; i < outcome.outputs.size(); ++i) {
        std::memcpy(outcome.outputs[i].data(), bound_outputs_[i].get(), outcome.outputs[i].size());
      }
    }
    outcome.error = error_.message;
    return outcome;
  }

 private:
  bool Load() {
    size_t scratch_bytes = 0;
    size_t state_bytes = 0;
    if (tenon_plan_scratch_size(file_.get(), size_, &scratch_bytes, &error_) != TENON_OK ||
        tenon_plan_state_size(file_.get(), size_, &state_bytes, &error_) != TENON_OK) {
      return false;
    }
    // Tables in the file are a few times smaller than what describes them in memory.
    CHECK(scratch_bytes + state_bytes <= 16 * size_ + 65536);
    state_ = Allocate(state_bytes);
    const Memory scratch = Allocate(scratch_bytes);
    const tenon_backend* backend = portable_ ? tenon_backend_cpu_portable() : tenon_backend_cpu();
    const tenon_backends backends{&backend, 1};
    tenon_plan* plan = nullptr;
    const tenon_status status =
        tenon_plan_load(file_.get(), size_, &backends, 1, state_.get(), state_bytes, scratch.get(),
                        scratch_bytes, &plan, &error_);
    plan_.reset(plan);
    return status == TENON_OK;
  }

  [[nodiscard]] uint64_t ArenaBytes() const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < tenon_plan_arena_count(plan_.get()); ++i) {
      tenon_arena_info info;
      REQUIRE(tenon_plan_arena(plan_.get(), i, &info) == TENON_OK);
      if (info.bytes > UINT64_MAX - bytes) return UINT64_MAX;
      bytes += info.bytes + info.alignment;
    }
    return bytes;
  }

  /// What `load` packed comes from constants: Winograd's coefficients are 4 times the weights.
  bool CheckHeldMemory() {
    CHECK(tenon_plan_packed_bytes(plan_.get()) <= 8 * size_ + 65536);
    return true;
  }

  /// Huge arenas and endless work are what the plan asks for; the runtime cannot know better.
  bool IsAffordable() {
    const uint64_t arena_bytes = ArenaBytes();
    if (arena_bytes > kMostArenaBytes) {
      tenon_session* session = nullptr;
      const tenon_status status = tenon_session_open(plan_.get(), &session, &error_);
      CHECK((status == TENON_OK || status == TENON_OUT_OF_MEMORY));
      if (arena_bytes >= uint64_t{1} << 58) CHECK(status == TENON_OUT_OF_MEMORY);
      tenon_session_close(session);
      return false;
    }
    return Work() <= kMostWork;
  }

  [[nodiscard]] int64_t Work() const {
    const Result<PlanView> view = PlanView::Open(Span<const uint8_t>(file_.get(), size_));
    const ProgramView program = view->program(0);
    std::vector<TensorView> tensors(program.tensor_count());
    DescribeTensors(*view, program, tensors.data());
    double total = 0;
    for (size_t i = 0; i < program.op_count(); ++i) {
      const OpInfo op = program.op(i);
      const OpCall call{tensors.data(), op.inputs, op.outputs, op.attributes.data()};
      const OpWork work = GetOpHostRow(static_cast<OpKind>(op.kind)).work(call);
      total += static_cast<double>(work.multiply_accumulates) +
               static_cast<double>(work.elementary_ops) + static_cast<double>(work.bytes_written);
    }
    return total > 1e18 ? INT64_MAX : static_cast<int64_t>(total);
  }

  bool OpenSession() {
    std::vector<tenon_memory> blocks;
    for (size_t i = 0; i < tenon_plan_arena_count(plan_.get()); ++i) {
      tenon_arena_info info;
      REQUIRE(tenon_plan_arena(plan_.get(), i, &info) == TENON_OK);
      arenas_.push_back(Allocate(info.bytes, info.alignment));
      blocks.push_back({arenas_.back().get(), info.bytes});
    }
    const size_t bytes = tenon_session_state_size(plan_.get());
    session_state_ = Allocate(bytes);
    tenon_session* session = nullptr;
    const tenon_status status = tenon_session_create(
        plan_.get(), session_state_.get(), bytes, blocks.data(), blocks.size(), &session, &error_);
    session_.reset(session);
    if (status != TENON_OK) return false;
    // oneDNN's scratch, where a hostile plan left no workspace, is no larger than the operands.
    CHECK(tenon_session_packed_bytes(session) <= 8 * (size_ + ArenaBytes()) + (1U << 20));
    return true;
  }

  void Bind(uint32_t seed) {
    std::mt19937 random(seed);
    tenon_port_info info;
    for (size_t i = 0; i < tenon_plan_input_count(plan_.get()); ++i) {
      REQUIRE(tenon_plan_input(plan_.get(), i, &info) == TENON_OK);
      inputs_.push_back(Allocate(info.bytes));
      for (size_t at = 0; at + 4 <= info.bytes; at += 4) {
        const float value = static_cast<float>(random() % 2000) / 1000.0F - 1.0F;
        std::memcpy(inputs_.back().get() + at, &value, 4);
      }
      REQUIRE(tenon_session_bind_input(session_.get(), i, inputs_.back().get(), info.bytes,
                                       &error_) == TENON_OK);
    }
    for (size_t i = 0; i < tenon_plan_output_count(plan_.get()); ++i) {
      REQUIRE(tenon_plan_output(plan_.get(), i, &info) == TENON_OK);
      bound_outputs_.push_back(Allocate(info.bytes));
      outputs_.emplace_back(info.bytes);
      REQUIRE(tenon_session_bind_output(session_.get(), i, bound_outputs_.back().get(), info.bytes,
                                        &error_) == TENON_OK);
    }
  }

  size_t size_;
  Memory file_;
  bool portable_;
  tenon_error error_{};
  Memory state_;
  std::unique_ptr<tenon_plan, PlanUnloader> plan_;
  std::vector<Memory> arenas_;
  Memory session_state_;
  std::vector<Memory> inputs_;
  std::vector<Memory> bound_outputs_;
  std::vector<std::vector<uint8_t>> outputs_;
  std::unique_ptr<tenon_session, SessionDestroyer> session_;
};

Outcome Try(const std::vector<uint8_t>& file, bool portable) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = Attempt(file, portable).Run(7);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(elapsed.count() < kMostSeconds);
  return outcome;
}

constexpr const char* kConvNet = R"(
graph conv
input %x: f32[1,3,14,14]
const %w1: f32[16,3,3,3] = random(1)
const %b1: f32[16] = random(2)
%c1 = conv(%x, %w1, %b1) {pads=[1,1,1,1], activation=relu}
const %w2: f32[16,1,3,3] = random(3)
%d1 = conv(%c1, %w2) {group=16, pads=[1,1,1,1], activation=hard_swish}
const %w3: f32[16,16,1,1] = random(4)
%e1 = conv(%d1, %w3, _, %c1)
const %w4: f32[16,16,3,3] = random(5)
%f1 = conv(%e1, %w4, %b1, %e1) {pads=[1,1,1,1], activation=relu}
%p1 = max_pool(%f1) {kernel=[2,2], strides=[2,2]}
%g1 = conv(%p1, %w4) {strides=[2,2], pads=[1,1,1,1]}
%a1 = average_pool(%g1) {kernel=[3,3], strides=[1,1], pads=[1,1,1,1], count_include_pad=1}
%l1 = lrn(%a1) {size=5}
%s1 = softmax(%l1) {axis=1}
output %s1
)";

constexpr const char* kMatMulNet = R"(
graph matmul
input %x: f32[4,24]
const %w1: f32[24,32] = random(1)
const %b1: f32[32] = random(2)
%h1 = matmul(%x, %w1, %b1) {activation=relu}
const %w2: f32[16,32] = random(3)
%h2 = matmul(%h1, %w2) {transpose_b=1, activation=sigmoid}
%h3 = matmul(%h2, %h2) {transpose_b=1}
%h4 = matmul(%h3, %h3)
%r = reduce(%h4) {function=max, axes_mask=2, keep_dims=1}
%d = binary(%h4, %r) {function=sub}
%e = unary(%d) {function=exp}
%s = softmax(%e) {axis=1}
output %s
output %h2
)";

constexpr const char* kMovingNet = R"(
graph moving
input %x: f32[1,4,6,6]
input %y: f32[1,4,6,6]
%a = unary(%x) {function=relu}
%b = unary(%y) {function=tanh}
%c = concat(%a, %b) {axis=1}
%d = slice(%c) {begins=[0,1,0,0], sizes=[1,6,5,3], steps=[1,1,1,2]}
%e = transpose(%d) {permutation=[0,2,3,1]}
%f = reshape(%e) {dims=[15,6]}
%g = pad(%f) {begins=[1,0], ends=[0,2], value=0.5}
%h = unary(%g) {function=sigmoid}
%i = binary(%h, %h) {function=add}
%j = resize(%c) {mode=linear, sizes=[1,8,12,12], scales=[1,1,2,2]}
%k = reduce(%j) {function=mean, axes_mask=12, keep_dims=1}
%l = expand(%k) {dims=[1,8,2,2]}
%m = unary(%l) {function=exp}
output %i
output %m
)";

// One line for each op: the text form has no others.
constexpr const char* kQuantizedNet =
    R"(
graph quantized
input %x: f32[1,3,14,14]
const %s: f32[1] = [0.02]
const %z: i8[1] = [3]
%q = quantize(%x, %s, %z) {to=i8}
const %w1: i8[16,3,3,3] = random(1)
const %b1: i32[16] = random(2)
const %m1: i32[1] = [1200000000]
const %h1: i8[1] = [-6]
%c1 = quantized_conv(%q, %w1, %b1, %m1, %h1, %z) )"
    R"({pads=[1,1,1,1], rounding=fixed_point, zero_point=-4}
const %w2: i8[16,1,3,3] = random(3)
const %m2: f32[1] = [0.02]
const %z2: i8[1] = [-4]
%d1 = quantized_conv(%c1, %w2, %b1, %m2, _, %z2) {group=16, pads=[1,1,1,1], min=0}
const %w3: i8[16,16,1,1] = random(4)
const %m3: i32[16] = random(9)
const %h3: i8[16] = random(10)
%e1 = quantized_conv(%d1, %w3, _, %m3, %h3) {rounding=fixed_point}
%a1 = quantized_binary(%e1, %c1) {rounding=fixed_point, y_zero_point=-4, left_shift=20, )"
    R"(x_multiplier=1073741824, y_multiplier=1500000000, )"
    R"(output_multiplier=1200000000, output_shift=-18}
const %t: i8[256] = random(5)
%l1 = lookup(%a1, %t)
%p1 = max_pool(%l1) {kernel=[2,2], strides=[2,2]}
%v1 = quantized_average_pool(%p1) {kernel=[3,3], pads=[1,1,1,1], rounding=half_away}
%r1 = quantized_reduce(%v1) {axes_mask=12, keep_dims=0, rounding=fixed_point, )"
    R"(multiplier=1400000000, shift=-5}
const %w4: i8[10,16] = random(6)
const %b4: i32[10] = random(7)
const %m4: f32[10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
const %z4: i8[10] = random(8)
%y1 = quantized_matmul(%r1, %w4, %b4, %m4, _, %z, %z4) {transpose_b=1}
%k1 = quantized_binary(%y1, %y1) {function=mul, x_scale=0.1, y_scale=0.1, output_scale=0.2}
%o1 = quantized_softmax(%k1) {axis=1, rounding=fixed_point, multiplier=1374389504, shift=23, )"
    R"(least_difference=-248, zero_point=-128}
const %n: f32[1] = [0.00390625]
const %zn: i8[1] = [-128]
%f1 = dequantize(%o1, %n, %zn)
output %f1
)";

constexpr const char* kGatherNet = R"(
graph gather
input %x: f32[6,8]
const %n: i32[3] = [0, 5, -2]
%g = gather(%x, %n) {axis=0}
%c = cast(%g) {to=i32}
%i = binary(%c, %c) {function=mul}
%q = binary(%g, %g) {function=less_or_equal}
%s = select(%q, %g, %g)
%t = unary(%s) {function=neg}
%f = cast(%i) {to=f32}
%o = binary(%t, %f) {function=mul}
output %o
)";

std::vector<uint8_t> Convert(converter::Graph graph) {
  auto conversion = converter::ConvertGraph(std::move(graph), OptionsFor());
  if (!conversion.ok()) FAIL(conversion.error().message);
  return conversion->plan;
}

std::vector<PlanSpec> Originals() {
  std::vector<PlanSpec> specs;
  for (const char* text : {kConvNet, kMatMulNet, kMovingNet, kGatherNet, kQuantizedNet}) {
    auto graph = converter::ParseGraph(text);
    if (!graph.ok()) FAIL(graph.error().message);
    specs.push_back(ReadSpec(Convert(std::move(*graph))));
  }
  for (uint64_t seed = 1; seed <= 4; ++seed) specs.push_back(ReadSpec(Convert(RandomGraph(seed))));
  return specs;
}

}  // namespace

TEST_CASE("Plan run mutation: plans that are only rewritten run as before") {
  for (const PlanSpec& spec : Originals()) {
    for (const bool portable : {false, true}) {
      const Outcome outcome = Try(spec.Write(), portable);
      CHECK(outcome.error == "");
      CHECK(outcome.ran);
    }
  }
}

TEST_CASE("Plan run mutation: whatever a plan says, it is refused or runs inside its memory") {
  const std::vector<PlanSpec> originals = Originals();
  std::mt19937 random(11);
  int loaded = 0;
  int ran = 0;
  for (int i = 0; i < 16000; ++i) {
    CAPTURE(i);
    PlanSpec spec = originals[random() % originals.size()];
    for (size_t k = 1 + random() % 3; k > 0; --k) MutateAnything(spec, random);
    const Outcome outcome = Try(spec.Write(), random() % 3 == 0);
    loaded += outcome.loaded ? 1 : 0;
    ran += outcome.ran ? 1 : 0;
  }
  MESSAGE(loaded << " loaded, " << ran << " ran");
  CHECK(loaded > 1000);
  CHECK(ran > 500);
}

TEST_CASE("Plan run mutation: moved tensors, hand-overs and steps are refused or change nothing") {
  const std::vector<PlanSpec> originals = Originals();
  std::vector<Outcome> wanted[2];
  for (const PlanSpec& spec : originals) {
    for (const bool portable : {false, true}) {
      wanted[portable ? 1 : 0].push_back(Try(spec.Write(), portable));
    }
  }
  std::mt19937 random(12);
  int ran = 0;
  for (int i = 0; i < 6000; ++i) {
    CAPTURE(i);
    const size_t which = random() % originals.size();
    PlanSpec spec = originals[which];
    for (size_t k = 1 + random() % 2; k > 0; --k) MutatePlacement(spec, random);
    // Kernels of different kinds round differently, and one without its workspace is replaced; the
    // portable ones are always the same.
    const bool portable = random() % 2 == 0;
    for (size_t k = 0; k < spec.ops.size() && !portable; ++k) {
      spec.ops[k].kernel = originals[which].ops[k].kernel;
      spec.ops[k].workspace = originals[which].ops[k].workspace;
    }
    const Outcome outcome = Try(spec.Write(), portable);
    if (!outcome.ran) continue;
    ++ran;
    CHECK(outcome.outputs == wanted[portable ? 1 : 0][which].outputs);
  }
  MESSAGE(ran << " ran");
  CHECK(ran > 500);
}

TEST_CASE("Plan run mutation: flipped, swapped and cut bytes are refused or run") {
  const std::vector<PlanSpec> originals = Originals();
  std::mt19937 random(13);
  int loaded = 0;
  for (int i = 0; i < 8000; ++i) {
    CAPTURE(i);
    std::vector<uint8_t> file = originals[random() % originals.size()].Write();
    const size_t header = HeaderPosition(file);
    const size_t header_bytes = HeaderOf(file)->bytes();
    const size_t at = random() % header_bytes;
    const size_t other = random() % header_bytes;
    switch (random() % 4) {
      case 0:
        file[at] ^= static_cast<uint8_t>(1U << (random() % 8));
        break;
      case 1:
        file[at] = static_cast<uint8_t>(random());
        break;
      case 2:
        std::swap_ranges(file.begin() + static_cast<ptrdiff_t>(at / 4 * 4),
                         file.begin() + static_cast<ptrdiff_t>(at / 4 * 4 + 4),
                         file.begin() + static_cast<ptrdiff_t>(other / 4 * 4));
        break;
      default:
        file.resize(random() % file.size());
        break;
    }
    if (header + sizeof(plan::FileHeader) <= file.size()) SealAt(file, header);
    loaded += Try(file, random() % 3 == 0).loaded ? 1 : 0;
  }
  MESSAGE(loaded << " loaded");
  CHECK(loaded > 200);
}
