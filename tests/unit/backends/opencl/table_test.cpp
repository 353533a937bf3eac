#include <doctest/doctest.h>

#include <set>
#include <string>

#include "backends/opencl/caps/opencl_caps.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon::opencl {

TEST_CASE("OpenCL backend: ids are unique and name the op that they run") {
  std::set<std::string> seen;
  for (const KernelEntry& kernel : OpenclBackend().kernels) {
    CAPTURE(kernel.id);
    CHECK(seen.insert(kernel.id).second);
    CHECK(std::string(kernel.id).find(std::string("opencl.") + kernel.row->name + ".") == 0);
  }
}

TEST_CASE("OpenCL backend: every kernel that holds memory says how much it may be") {
  for (size_t i = 0; i < Kernels().size(); ++i) {
    CAPTURE(Kernels()[i].id);
    CHECK((OpenclBackend().kernels[i].held_bytes == nullptr) ==
          (Kernels()[i].packed_bytes == nullptr));
  }
}

TEST_CASE("OpenCL backend: it is called as its capabilities say") {
  CHECK(std::string(OpenclBackend().name) == OpenclCaps().name);
}

namespace {

/// Whether any kernel takes the op, once its shape rule has.
bool Runs(const OpRow& row, const OpTester& tester, const void* attributes) {
  REQUIRE(tester.Check(attributes) == "ok");
  return tester.With(attributes, [&](const OpCall& call) {
    bool runs = false;
    for (const KernelCaps& caps : Kernels()) {
      if (caps.kind == row.kind) runs = runs || caps.supports(call) == nullptr;
    }
    return runs;
  });
}

/// An op that keeps the shape and dtype of its inputs, all alike.
bool RunsAlike(const OpRow& row, const void* attributes, DType dtype, int inputs = 1) {
  OpTester tester(row);
  for (int i = 0; i < inputs; ++i) tester.Input(dtype, {1, 2, 3, 3});
  tester.Output(dtype, {1, 2, 3, 3});
  return Runs(row, tester, attributes);
}

}  // namespace

TEST_CASE("OpenCL backend: float arithmetic of 8-bit integers is left to other backends") {
  const ReduceAttributes reduce = {ReduceFunction::kMax, 0, 1};
  const ResizeAttributes resize = {ResizeMode::kNearest,    {}, {}, -0.75F, 0, 4, {1, 2, 3, 3},
                                   {1.0F, 1.0F, 1.0F, 1.0F}};
  const UnaryAttributes relu = {UnaryFunction::kRelu, 0.0F, 0.0F};
  for (const DType dtype : {DType::kF32, DType::kI8}) {
    const bool expected = dtype == DType::kF32;
    CHECK(RunsAlike(kMaxPoolRow, GetOpHostRow(OpKind::kMaxPool).text.default_attributes, dtype));
    CHECK(RunsAlike(kResizeRow, &resize, dtype));
    CHECK(RunsAlike(kUnaryRow, &relu, dtype) == expected);
    CHECK(RunsAlike(kBinaryRow, GetOpHostRow(OpKind::kBinary).text.default_attributes, dtype, 2) ==
          expected);
    CHECK(RunsAlike(kReduceRow, &reduce, dtype) == expected);
  }
}

TEST_CASE("OpenCL backend: what moves bytes runs whatever they mean") {
  const PadAttributes pad = {PadMode::kConstant, -128.0F, 4, {}, {}};
  const ReshapeAttributes reshape = {4, {1, 2, 3, 3}};
  const ExpandAttributes expand = {4, {1, 2, 3, 3}};
  const SliceAttributes slice = {4, {}, {1, 2, 3, 3}, {1, 1, 1, 1}};
  const TransposeAttributes transpose = {4, {0, 1, 2, 3}};
  CHECK(RunsAlike(kPadRow, &pad, DType::kI8));
  CHECK(RunsAlike(kReshapeRow, &reshape, DType::kI8));
  CHECK(RunsAlike(kExpandRow, &expand, DType::kI8));
  CHECK(RunsAlike(kSliceRow, &slice, DType::kI8));
  CHECK(RunsAlike(kTransposeRow, &transpose, DType::kI8));
  CHECK(RunsAlike(kConcatRow, GetOpHostRow(OpKind::kConcat).text.default_attributes, DType::kI8));
  CHECK(RunsAlike(kCopyRow, GetOpHostRow(OpKind::kCopy).text.default_attributes, DType::kI8));
}

TEST_CASE("OpenCL backend: weights that are not f32 are left to other backends") {
  const auto conv = [](DType weights) {
    OpTester tester(kConvRow);
    tester.Input(DType::kF32, {1, 2, 3, 3}).Input(weights, {4, 2, 1, 1});
    if (weights == DType::kI8) tester.Absent().Absent().Input(DType::kF32, {4});
    return Runs(kConvRow, tester.Output(DType::kF32, {1, 4, 3, 3}),
                GetOpHostRow(OpKind::kConv).text.default_attributes);
  };
  CHECK(conv(DType::kF32));
  CHECK_FALSE(conv(DType::kF16));
  CHECK_FALSE(conv(DType::kI8));
  const auto matmul = [](DType weights) {
    OpTester tester(kMatMulRow);
    tester.Input(DType::kF32, {3, 2}).Input(weights, {2, 4});
    if (weights == DType::kI8) tester.Absent().Input(DType::kF32, {4});
    return Runs(kMatMulRow, tester.Output(DType::kF32, {3, 4}),
                GetOpHostRow(OpKind::kMatMul).text.default_attributes);
  };
  CHECK(matmul(DType::kF32));
  CHECK_FALSE(matmul(DType::kF16));
  CHECK_FALSE(matmul(DType::kI8));
}

TEST_CASE("OpenCL backend: it has a kernel for every quantized op") {
  std::set<OpKind> kinds;
  for (const KernelCaps& caps : Kernels()) kinds.insert(caps.kind);
  for (int i = 0; i < kOpKindCount; ++i) {
    const auto kind = static_cast<OpKind>(i);
    CAPTURE(GetOpRow(kind).name);
    if (TraitsOf(kind).quantized) CHECK(kinds.count(kind) == 1);
  }
}

}  // namespace tenon::opencl
