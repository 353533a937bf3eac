// The Cortex-M sums and pools against the portable ones: equal bits.
#include "tests/unit/backends/cpu/kernels/cortex_m/cortex_m_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

/// A factor of any bits that the shape rule lets through, or a usual one below 1.
QuantizedScale RandomByteScale(Generator& random) {
  QuantizedScale scale;
  scale.multiplier = Pick(random, 1 << 30, std::numeric_limits<int32_t>::max());
  scale.shift = Pick(random, -8, 0);
  if (Pick(random, 0, 3) != 0) return scale;
  scale.multiplier = Pick(random, 0, std::numeric_limits<int32_t>::max());
  scale.shift = Pick(random, -31, 30);
  return scale;
}

void CheckSum(const KernelEntry& kernel, int32_t count, Generator& random) {
  KernelPair pair(kernel, "cpu.quantized_binary.portable");
  for (int i = 0; i < 2; ++i) pair.AddInput(RandomBytes(DType::kI8, {count}, {1}, random));
  GemmOptions options;
  options.to = Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8;
  QuantizedBinaryAttributes attributes;
  attributes.function = Pick(random, 0, 1) == 0 ? BinaryFunction::kAdd : BinaryFunction::kSub;
  attributes.x_zero_point = Pick(random, -128, 127);
  attributes.y_zero_point = Pick(random, -128, 127);
  attributes.x_scale = RandomByteScale(random);
  attributes.y_scale = RandomByteScale(random);
  attributes.output_scale = RandomByteScale(random);
  attributes.left_shift = Pick(random, 0, 1) == 0 ? 20 : Pick(random, 0, 22);
  attributes.output = MakeOutput(options, random);
  if (options.to == DType::kI8 && Pick(random, 0, 1) == 0) {  // as models without an activation
    attributes.output.min = -128;
    attributes.output.max = 127;
  }
  pair.AddOutput(options.to, {count}, {1});
  // Room for tables, or none.
  pair.set_workspace_bytes(Pick(random, 0, 1) == 0 ? size_t{2} << 10 : 0);
  pair.CheckEqual(attributes);
}

/// A window that holds at least one element wherever it stands.
PoolAttributes RandomWindow(Generator& random) {
  PoolAttributes pool;
  for (int i = 0; i < 2; ++i) {
    pool.kernel[i] = Pick(random, 1, 4);
    pool.strides[i] = Pick(random, 1, 3);
    pool.pads[i] = Pick(random, 0, pool.kernel[i] - 1);
    pool.pads[2 + i] = Pick(random, 0, pool.kernel[i] - 1);
  }
  pool.count_include_pad = Pick(random, 0, 1);
  return pool;
}

std::vector<int32_t> PooledDims(const std::vector<int32_t>& x, const PoolAttributes& pool) {
  std::vector<int32_t> y = x;
  for (size_t i = 0; i < 2; ++i) {
    const int32_t padded = x[2 + i] + pool.pads[i] + pool.pads[2 + i];
    y[2 + i] = (padded - pool.kernel[i]) / pool.strides[i] + 1;
  }
  return y;
}

std::vector<int32_t> RandomStrides(const std::vector<int32_t>& dims, Generator& random) {
  return StridesFor(dims,
                    Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps);
}

/// Sums of any bits.
template <typename T>
Tensor RandomSums(DType dtype, const std::vector<int32_t>& dims, Generator& random) {
  Tensor tensor(dtype, dims, RandomStrides(dims, random));
  std::vector<T> values(tensor.count());
  for (T& value : values) value = static_cast<T>(Pick(random, INT32_MIN, INT32_MAX));
  tensor.Set(values);
  return tensor;
}

/// Of the parts of a window that is pooled in several.
enum class Part { kWhole, kFirst, kNext, kLast };

void CheckAverage(const KernelEntry& kernel, const std::vector<int32_t>& x,
                  const PoolAttributes& pool, Generator& random, Part part = Part::kWhole) {
  KernelPair pair(kernel, "cpu.quantized_average_pool.portable");
  pair.AddInput(RandomBytes(DType::kI8, x, RandomStrides(x, random), random));
  GemmOptions options;
  options.rounding = Pick(random, 0, 1) == 0 ? Rounding::kHalfAway : Rounding::kHalfEven;
  QuantizedAveragePoolAttributes attributes;
  attributes.pool = pool;
  attributes.x_zero_point = Pick(random, -128, 127);
  attributes.scale.scale = static_cast<float>(Pick(random, 1, 1000)) * 0.002F;
  attributes.output = MakeOutput(options, random);
  const std::vector<int32_t> y = PooledDims(x, pool);
  const bool is_last = part == Part::kWhole || part == Part::kLast;
  const DType sum = Pick(random, 0, 1) == 0 ? DType::kI32 : DType::kI16;
  if (part == Part::kNext || part == Part::kLast) {
    pair.AddInput(sum == DType::kI32 ? RandomSums<int32_t>(sum, y, random)
                                     : RandomSums<int16_t>(sum, y, random));
  }
  if (!is_last) attributes.output.to = static_cast<int32_t>(sum);
  pair.AddOutput(is_last ? options.to : sum, y, RandomStrides(y, random));
  pair.CheckEqual(attributes);
}

}  // namespace

TEST_CASE("Cortex-M sum: the portable kernel's bits for any count and factors") {
  ForEachSetThatHas("quantized_binary", "", [](const KernelEntry& kernel) {
    Generator random(1);
    for (int i = 0; i < 400; ++i) CheckSum(kernel, i < 40 ? i : Pick(random, 1, 300), random);
  });
}

TEST_CASE("Cortex-M sum: may take over an operand's memory") {
  ForEachSetThatHas("quantized_binary", "",
                    [](const KernelEntry& kernel) { CHECK(kernel.row->in_place_inputs == 3U); });
}

TEST_CASE("Cortex-M average: the portable kernel's bits on random windows") {
  ForEachSetThatHas("quantized_average_pool", "", [](const KernelEntry& kernel) {
    Generator random(2);
    for (int i = 0; i < 100; ++i) {
      const std::vector<int32_t> x = {Pick(random, 1, 2), Pick(random, 1, 40), Pick(random, 4, 9),
                                      Pick(random, 4, 9)};
      CheckAverage(kernel, x, RandomWindow(random), random);
    }
  });
}

TEST_CASE("Cortex-M average: the portable kernel's bits of windows pooled in parts") {
  ForEachSetThatHas("quantized_average_pool", "", [](const KernelEntry& kernel) {
    Generator random(4);
    for (int i = 0; i < 60; ++i) {
      const std::vector<int32_t> x = {Pick(random, 1, 2), Pick(random, 1, 40), Pick(random, 4, 9),
                                      Pick(random, 4, 9)};
      const Part part = i % 3 == 0 ? Part::kFirst : (i % 3 == 1 ? Part::kNext : Part::kLast);
      CheckAverage(kernel, x, RandomWindow(random), random, part);
    }
  });
}

TEST_CASE("Cortex-M average: windows of more bytes than 16 bits can sum") {
  ForEachSetThatHas("quantized_average_pool", "", [](const KernelEntry& kernel) {
    Generator random(3);
    for (int i = 0; i < 8; ++i) {
      const std::vector<int32_t> x = {1, Pick(random, 1, 20), Pick(random, 16, 24),
                                      Pick(random, 16, 24)};
      PoolAttributes pool;
      pool.kernel[0] = x[2];
      pool.kernel[1] = x[3];
      CheckAverage(kernel, x, pool, random);
    }
  });
}

TEST_CASE("Cortex-M lookup: the portable kernel's bytes for any count") {
  ForEachSetThatHas("lookup", "", [](const KernelEntry& kernel) {
    Generator random(5);
    for (int32_t count = 0; count < 80; ++count) {
      const auto byte_type = [&] { return Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8; };
      const DType to = byte_type();
      KernelPair pair(kernel, "cpu.lookup.portable");
      pair.AddInput(RandomBytes(byte_type(), {count}, {1}, random));
      pair.AddInput(RandomBytes(to, {256}, {1}, random), kConstant);
      pair.AddOutput(to, {count}, {1});
      pair.CheckEqual(int32_t{0});  // no attributes
    }
  });
}

TEST_CASE("Cortex-M maximum: the portable kernel's bits on random windows") {
  ForEachSetThatHas("max_pool", "", [](const KernelEntry& kernel) {
    Generator random(4);
    for (int i = 0; i < 100; ++i) {
      const std::vector<int32_t> x = {Pick(random, 1, 2), Pick(random, 1, 40), Pick(random, 4, 9),
                                      Pick(random, 4, 9)};
      PoolAttributes pool = RandomWindow(random);
      pool.count_include_pad = 0;
      KernelPair pair(kernel, "cpu.max_pool.portable");
      pair.AddInput(RandomBytes(DType::kI8, x, RandomStrides(x, random), random));
      const std::vector<int32_t> y = PooledDims(x, pool);
      pair.AddOutput(DType::kI8, y, RandomStrides(y, random));
      pair.CheckEqual(pool);
    }
  });
}

}  // namespace tenon::cpu::testing
