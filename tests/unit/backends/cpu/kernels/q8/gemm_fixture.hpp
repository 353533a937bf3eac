// What the tests of the fast quantized kernels share: operands of a quantized convolution or
// product, run by the fast kernel and by the portable one, which must give the same bits.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"
#include "tests/unit/backends/cpu/kernels/q8/bytes_fixture.hpp"

namespace tenon::cpu::testing {

inline constexpr const char* kPortableMatMul = "cpu.quantized_matmul.portable";

/// How the operands of a quantized product are made.
struct GemmOptions {
  DType x_dtype = DType::kI8;
  DType w_dtype = DType::kI8;
  DType to = DType::kI8;
  Rounding rounding = Rounding::kHalfEven;
  bool bias = true;
  bool per_channel = true;
  bool x_zero_point = true;
  bool x_zero_point_per_channel = false;
  bool w_zero_point = false;
  bool hostile = false;    ///< multipliers, shifts and bias of any bits
  bool huge_bias = false;  ///< some channels' bias of any bits
  bool narrow = false;     ///< bounds inside the dtype's
  bool constant_weights = true;
  bool w_zero_point_per_channel = true;  ///< where factors are
  int threads = 1;
  int workspace_threads = 0;  ///< for how many the workspace is; 0: for `threads`
};

inline DType PickByte(Generator& random) {
  return Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8;
}

inline GemmOptions RandomGemmOptions(Generator& random) {
  GemmOptions options;
  const auto flip = [&] { return Pick(random, 0, 1) == 1; };
  options.x_dtype = PickByte(random);
  options.w_dtype = Pick(random, 0, 3) == 0 ? DType::kU8 : DType::kI8;
  constexpr DType kOutputs[] = {DType::kI8, DType::kU8,  DType::kI8,
                                DType::kU8, DType::kI32, DType::kF32};
  options.to = kOutputs[Pick(random, 0, 5)];
  if (options.to != DType::kF32) {
    options.rounding = flip() ? Rounding::kHalfEven : Rounding::kFixedPoint;
  }
  options.bias = flip();
  options.per_channel = flip();
  options.x_zero_point = flip();
  options.x_zero_point_per_channel = Pick(random, 0, 3) == 0;
  options.w_zero_point = Pick(random, 0, 2) == 0;
  options.narrow = flip();
  options.threads = Pick(random, 1, 3);
  return options;
}

/// Output bounds and zero point as the options say.
inline QuantizedOutput MakeOutput(const GemmOptions& options, Generator& random) {
  QuantizedOutput output;
  output.to = static_cast<int32_t>(options.to);
  output.rounding = options.rounding;
  if (options.to == DType::kI32 || options.to == DType::kF32) return output;
  const int32_t least = options.to == DType::kI8 ? -128 : 0;
  output.zero_point = least + Pick(random, 0, 255);
  output.min = least + (options.narrow ? Pick(random, 0, 100) : 0);
  output.max = least + 255 - (options.narrow ? Pick(random, 0, 100) : 0);
  return output;
}

/// A product's operands; the inputs from the third on are constant, the second unless told.
class GemmPair {
 public:
  GemmPair(const char* fast_id, const char* portable_id)
      : fast_(FindKernel(fast_id)), portable_(FindKernel(portable_id)) {}

  /// Inputs 0 to 6 for `channels` outputs, each the sum of `terms` products.
  void AddInputs(const Tensor& x, const Tensor& w, int32_t channels, int32_t x_channels,
                 int32_t terms, const GemmOptions& options, Generator& random) {
    Add(&x, false);
    Add(&w, options.constant_weights);
    AddOptional(options.bias, [&] { return MakeBias(channels, options, random); });
    const int32_t factors = options.per_channel ? channels : 1;
    const bool sums = options.to == DType::kI32;
    const bool fixed = options.rounding != Rounding::kHalfEven;
    AddOptional(!sums, [&] {
      return fixed ? MakeMultiplier(factors, options, random)
                   : MakeFactor(factors, terms, options, random);
    });
    AddOptional(!sums && fixed, [&] { return MakeShift(factors, terms, options, random); });
    AddOptional(options.x_zero_point, [&] {
      return RandomBytes(options.x_dtype, {options.x_zero_point_per_channel ? x_channels : 1},
                         Layout::kRowMajor, random);
    });
    AddOptional(options.w_zero_point, [&] {
      const bool each = options.per_channel && options.w_zero_point_per_channel;
      return RandomBytes(options.w_dtype, {each ? channels : 1}, Layout::kRowMajor, random);
    });
  }

  void AddOutput(DType dtype, const std::vector<int32_t>& dims, Layout layout) {
    fast_output_.push_back(fast_.AddOutput(Tensor(dtype, dims, layout)));
    portable_output_.push_back(portable_.AddOutput(Tensor(dtype, dims, layout)));
  }

  template <typename Attributes>
  Status Check(const Attributes& attributes) {
    fast_.SizeWorkspace(attributes);
    return fast_.Check(attributes);
  }

  /// Runs both and compares every bit; the fast one on the backend's own team.
  template <typename Attributes>
  void CheckEqual(const Attributes& attributes, int threads, int workspace_threads = 0) {
    ParallelRunner runner = CpuBackend().make_runner(threads);
    fast_.set_runner(&runner);
    fast_.SizeWorkspace(attributes, workspace_threads > 0 ? workspace_threads : threads);
    const Status status = fast_.Run(attributes, threads);
    CpuBackend().free_runner(runner);
    INFO(status.message());
    REQUIRE(status.ok());
    REQUIRE(portable_.Run(attributes).ok());
    CHECK(fast_output_[0].GapsIntact());
    const DType dtype = fast_output_[0].dtype();
    if (dtype == DType::kF32) {
      CHECK(Unlike<float>() == 0);
    } else if (dtype == DType::kI32) {
      CHECK(Unlike<int32_t>() == 0);
    } else {
      CHECK(Unlike<uint8_t>() == 0);
    }
  }

 private:
  void Add(const Tensor* tensor, bool constant) {
    if (tensor == nullptr) {
      fast_.AddAbsentInput();
      portable_.AddAbsentInput();
      return;
    }
    fast_.AddInput(*tensor, constant);
    portable_.AddInput(*tensor, constant);
  }

  template <typename Make>
  void AddOptional(bool is_there, const Make& make) {
    if (!is_there) return Add(nullptr, true);
    const Tensor tensor = make();
    Add(&tensor, true);
  }

  static Tensor MakeBias(int32_t channels, const GemmOptions& options, Generator& random) {
    std::vector<int32_t> bias(static_cast<size_t>(channels));
    for (int32_t& value : bias) {
      const bool any = options.hostile || (options.huge_bias && Pick(random, 0, 3) == 0);
      value = any ? static_cast<int32_t>(random()) : Pick(random, -20000, 20000);
    }
    return Tensor::From(DType::kI32, {channels}, bias);
  }

  /// Such that outputs spread over the range of a byte: sums do over about 10^4 times the root of
  /// the number of terms.
  static float UsualFactor(int32_t terms, Generator& random) {
    const float root = std::sqrt(static_cast<float>(terms));
    return static_cast<float>(Pick(random, 1, 1000)) * 2e-5F / root;
  }

  static Tensor MakeFactor(int32_t count, int32_t terms, const GemmOptions& options,
                           Generator& random) {
    std::vector<float> factors(static_cast<size_t>(count));
    for (float& factor : factors) {
      factor = UsualFactor(terms, random);
      if (!options.hostile) continue;
      const auto bits = static_cast<uint32_t>(random());
      std::memcpy(&factor, &bits, sizeof factor);
      if (Pick(random, 0, 3) == 0) factor = std::numeric_limits<float>::quiet_NaN();
    }
    return Tensor::From(DType::kF32, {count}, factors);
  }

  static Tensor MakeMultiplier(int32_t count, const GemmOptions& options, Generator& random) {
    std::vector<int32_t> multipliers(static_cast<size_t>(count));
    for (int32_t& multiplier : multipliers) {
      multiplier = options.hostile ? static_cast<int32_t>(random())
                                   : Pick(random, 1 << 30, std::numeric_limits<int32_t>::max());
      if (options.hostile && Pick(random, 0, 3) == 0) multiplier = INT32_MIN;
    }
    return Tensor::From(DType::kI32, {count}, multipliers);
  }

  static Tensor MakeShift(int32_t count, int32_t terms, const GemmOptions& options,
                          Generator& random) {
    std::vector<int8_t> shifts(static_cast<size_t>(count));
    for (int8_t& shift : shifts) {
      const int exponent = static_cast<int>(std::log2(UsualFactor(terms, random)));
      shift = static_cast<int8_t>(options.hostile ? Pick(random, -128, 127) : exponent);
    }
    return Tensor::From(DType::kI8, {count}, shifts);
  }

  template <typename T>
  size_t Unlike() const {
    const std::vector<T> fast = fast_output_[0].Values<T>();
    const std::vector<T> expected = portable_output_[0].Values<T>();
    size_t unlike = 0;
    for (size_t i = 0; i < fast.size(); ++i) {
      const bool both_nan = fast[i] != fast[i] && expected[i] != expected[i];
      unlike += fast[i] != expected[i] && !both_nan ? 1 : 0;
    }
    return unlike;
  }

  OpFixture fast_;
  OpFixture portable_;
  std::vector<Tensor> fast_output_;
  std::vector<Tensor> portable_output_;
};

}  // namespace tenon::cpu::testing
