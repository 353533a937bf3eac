#include "converter/cost/instruction_bound.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"

namespace tenon::converter {
namespace {

/// An op of one input and one output of the same shape, as a plan says it.
struct Form {
  const char* kernel;
  OpKind kind;
  std::vector<int32_t> dims;
  DType dtype;
  std::vector<int32_t> attributes;
};

test::PlanSpec PlanOf(const Form& form) {
  test::PlanSpec spec;
  spec.kernels = {form.kernel};
  const auto add = [&](uint64_t offset) {
    return spec.AddTensor(spec.AddStorage(offset, 256), form.dims, 0, {}, form.dtype);
  };
  const uint32_t x = add(0);
  const uint32_t y = add(256);
  spec.AddInput(x);
  spec.AddOutput(y);
  test::OpSpec& op = spec.ops[spec.AddOp({x}, {y})];
  op.kind = static_cast<uint16_t>(form.kind);
  op.attributes = form.attributes;
  return spec;
}

std::optional<InstructionBound> BoundOf(const test::PlanSpec& spec) {
  const std::vector<uint8_t> file = spec.Write();
  std::vector<std::max_align_t> aligned(file.size() / sizeof(std::max_align_t) + 1);
  std::memcpy(aligned.data(), file.data(), file.size());
  const auto view = PlanView::Open({reinterpret_cast<const uint8_t*>(aligned.data()), file.size()});
  REQUIRE(view.ok());
  return BoundInstructions(*view, view->program(0));
}

std::optional<InstructionBound> BoundOf(const Form& form) { return BoundOf(PlanOf(form)); }

std::vector<int32_t> Pool(int32_t kernel, int32_t dilation) {
  PoolAttributes pool;
  pool.kernel[0] = pool.kernel[1] = kernel;
  pool.dilations[0] = pool.dilations[1] = dilation;
  return Attributes(pool).words();
}

TEST_CASE("Instructions: of an op of a plan is counted what its kernel does") {
  const auto bound =
      BoundOf({"cpu.max_pool.dsp", OpKind::kMaxPool, {1, 16, 2, 2}, DType::kI8, Pool(1, 1)});
  REQUIRE(bound);
  REQUIRE(bound->ops.size() == 1);
  REQUIRE(bound->ops[0].terms);
  CHECK(bound->ops[0].terms->model == "cpu.max_pool.dsp");
}

TEST_CASE("Instructions: nothing is counted of ops that their kernels would not run") {
  const Form forms[] = {
      {"cpu.quantized_conv.dsp", OpKind::kUnary, {16}, DType::kI8, {0, 0, 0}},
      {"cpu.quantized_conv.helium", OpKind::kQuantizedConv, {1, 4, 2, 2}, DType::kI8, {}},
      {"cpu.quantized_matmul.dsp", OpKind::kQuantizedMatMul, {4, 4}, DType::kI8, {}},
      {"cpu.quantized_binary.helium", OpKind::kQuantizedBinary, {8}, DType::kI8, {}},
      {"cpu.max_pool.dsp", OpKind::kMaxPool, {4}, DType::kI8, Pool(1, 1)},
      {"cpu.max_pool.dsp", OpKind::kMaxPool, {1, 16, 2, 2}, DType::kI8, Pool(1 << 30, 0)},
      {"cpu.max_pool.helium", OpKind::kMaxPool, {1, 4, 2, 2}, DType::kF32, Pool(1, 1)},
  };
  for (const Form& form : forms) {
    CAPTURE(form.kernel);
    const auto bound = BoundOf(form);
    REQUIRE(bound);
    REQUIRE(bound->ops.size() == 1);
    CHECK_FALSE(bound->ops[0].terms);
    CHECK_FALSE(bound->most);
    CHECK(bound->unknown == std::vector<std::string>{form.kernel});
  }
}

TEST_CASE("Instructions: states of more bytes than any processor moves have no number") {
  QuantizedAveragePoolAttributes pool;
  pool.pool.kernel[0] = pool.pool.kernel[1] = 1;
  pool.scale.scale = 1;
  test::PlanSpec spec = PlanOf({"cpu.quantized_average_pool.dsp",
                                OpKind::kQuantizedAveragePool,
                                {1, 16, 2, 2},
                                DType::kI8,
                                Attributes(pool).words()});
  REQUIRE(BoundOf(spec));
  CHECK(BoundOf(spec)->most);
  for (int i = 0; i < 5; ++i) {
    const uint32_t state =
        spec.AddTensor(spec.AddStorage(512, uint64_t{1} << 61), {1, 16, 2, 2}, 0, {}, DType::kI8);
    spec.states.push_back({state, state, 0});
  }
  REQUIRE(BoundOf(spec));
  CHECK(BoundOf(spec)->ops[0].most);
  CHECK_FALSE(BoundOf(spec)->most);
}

}  // namespace
}  // namespace tenon::converter
