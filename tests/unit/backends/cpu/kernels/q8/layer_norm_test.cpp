#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/q8/bytes_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kBytesLayerNorm = "cpu.layer_norm.bytes";
constexpr const char* kPortableLayerNorm = "cpu.layer_norm.portable";

/// Rows of bytes that differ by up to `spread`: their variance is a small number then.
Tensor Rows(DType dtype, const std::vector<int32_t>& dims, int32_t spread, Generator& random) {
  Tensor tensor(dtype, dims, Layout::kRowMajor);
  std::vector<uint8_t> values(tensor.count());
  for (uint8_t& value : values) value = static_cast<uint8_t>(0xF0 + Pick(random, 0, spread));
  tensor.Set(values);
  return tensor;
}

}  // namespace

TEST_CASE("LayerNorm of bytes: gives the portable kernel's bits on rows of any length") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (int32_t count = 1; count <= 900; count += count < 70 ? 1 : 91) {
      CAPTURE(count);
      const int32_t rms = Pick(random, 0, 1);
      const DType dtype = rms != 0 ? DType::kI8 : PickByteType(random);
      ByteOp op(kBytesLayerNorm, kPortableLayerNorm);
      op.AddInput(Rows(dtype, {3, 2, count}, count % 2 == 0 ? 255 : 3, random));
      op.AddInput(Random({count}, Layout::kRowMajor, random, -90.0F, 90.0F));
      if (count % 3 != 0) {
        op.AddInput(Random({count}, Layout::kRowMajor, random, -30.0F, 30.0F));
      }
      op.AddOutput(dtype, {3, 2, count}, Layout::kRowMajor);
      CHECK(op.Agree<uint8_t>(LayerNormAttributes{count % 4 == 0 ? 0.0F : 0.37F, rms},
                              Pick(random, 1, 3)));
    }
  });
}

TEST_CASE("LayerNorm of bytes: sums of rows longer than 32 bits hold are exact") {
  ForEachQuantizedSet([] {
    Generator random(2);
    const int32_t count = (1 << 17) + 5;
    ByteOp op(kBytesLayerNorm, kPortableLayerNorm);
    Tensor x(DType::kI8, {1, count}, Layout::kRowMajor);
    std::vector<uint8_t> values(x.count(), 0x80);
    values.back() = 0x7F;
    x.Set(values);
    op.AddInput(x);
    op.AddInput(Random({count}, Layout::kRowMajor, random, -90.0F, 90.0F));
    op.AddOutput(DType::kI8, {1, count}, Layout::kRowMajor);
    CHECK(op.Agree<uint8_t>(LayerNormAttributes{0.0F, Pick(random, 0, 1)}, 1));
  });
}

}  // namespace tenon::cpu::testing
