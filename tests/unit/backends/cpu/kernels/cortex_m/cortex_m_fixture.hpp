// What the tests of the Cortex-M kernels share: one op on equal operands by such a kernel and by
// the portable one, whose bits it must give.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/cortex_m_table.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {

/// The kernel of `op` ("quantized_conv") whose id ends in `suffix` behind its set's name ("" or
/// "_depthwise"), or null. `list`'s first id names the set.
inline const KernelEntry* FindInSet(const KernelList& list, const std::string& op,
                                    const std::string& suffix) {
  const std::string start = "cpu." + op + ".";
  for (const KernelEntry& kernel : list) {
    const std::string id = kernel.id;
    if (id.compare(0, start.size(), start) != 0) continue;
    for (const char* set : {"cortex_m", "helium", "dsp"}) {
      if (id == start + set + suffix) return &kernel;
    }
  }
  return nullptr;
}

/// Runs `body` with the kernel of each set that there is here.
inline void ForEachSet(const std::string& op, const std::string& suffix,
                       const std::function<void(const KernelEntry&)>& body) {
  for (const KernelList& set : {CortexMGenericKernels(), DspKernels(), CortexMKernels()}) {
    if (set.size() == 0) continue;  // not of this processor
    const KernelEntry* kernel = FindInSet(set, op, suffix);
    REQUIRE(kernel != nullptr);
    CAPTURE(kernel->id);
    body(*kernel);
  }
}

/// The same for ops that not every set has a kernel of.
inline void ForEachSetThatHas(const std::string& op, const std::string& suffix,
                              const std::function<void(const KernelEntry&)>& body) {
  int found = 0;
  for (const KernelList& set : {CortexMGenericKernels(), DspKernels(), CortexMKernels()}) {
    const KernelEntry* kernel = FindInSet(set, op, suffix);
    if (kernel == nullptr) continue;
    ++found;
    CAPTURE(kernel->id);
    body(*kernel);
  }
  REQUIRE(found > 0);
}

inline const KernelEntry& Portable(const char* id) {
  for (const KernelEntry& kernel : PortableKernels()) {
    if (std::strcmp(kernel.id, id) == 0) return kernel;
  }
  FAIL("no such kernel");
  return PortableKernels()[0];
}

/// The caps of a kernel; those of the routines in plain C++ are Helium's.
inline const KernelCaps& CapsOfKernel(const KernelEntry& kernel) {
  std::string id = kernel.id;
  const size_t plain = id.find(".cortex_m");
  if (plain != std::string::npos) id.replace(plain, 9, ".helium");
  for (const char* set : {"helium", "dsp"}) {
    for (const KernelCaps& caps : CortexMCaps(set)) {
      if (caps.id == id) return caps;
    }
  }
  FAIL("no such capabilities");
  return CortexMCaps("helium")[0];
}

inline Tensor RandomBytes(DType dtype, const std::vector<int32_t>& dims,
                          const std::vector<int32_t>& strides, Generator& random) {
  Tensor tensor(dtype, dims, strides);
  std::vector<uint8_t> values(tensor.count());
  // Often the ends of the range, where products are largest.
  const bool extreme = Pick(random, 0, 3) == 0;
  for (uint8_t& value : values) {
    value = static_cast<uint8_t>(extreme ? Pick(random, 127, 128) : Pick(random, 0, 255));
  }
  tensor.Set(values);
  return tensor;
}

/// How a product's parameters are made.
struct GemmOptions {
  DType x = DType::kI8;
  DType to = DType::kI8;
  Rounding rounding = Rounding::kFixedPoint;
  bool bias = true;
  bool per_channel = true;
  bool zero_point = true;
  bool folded = false;   ///< besides, bias and zero point in one
  bool hostile = false;  ///< factors, shifts and bias of any bits
};

inline GemmOptions RandomOptions(Generator& random, bool once = false) {
  GemmOptions options;
  const auto flip = [&] { return Pick(random, 0, 1) == 1; };
  options.to = flip() ? DType::kI8 : DType::kU8;
  options.rounding = flip() ? Rounding::kHalfEven : Rounding::kFixedPoint;
  if (once && flip()) options.rounding = Rounding::kFixedPointOnce;
  options.bias = flip();
  options.per_channel = flip();
  options.zero_point = flip();
  options.folded = flip();
  options.hostile = Pick(random, 0, 3) == 0;
  return options;
}

/// Bounds and zero point of an output, sometimes those of all its values.
inline QuantizedOutput MakeOutput(const GemmOptions& options, Generator& random) {
  const int32_t least = options.to == DType::kI8 ? -128 : 0;
  QuantizedOutput output;
  output.to = static_cast<int32_t>(options.to);
  output.rounding = options.rounding;
  output.zero_point = least + Pick(random, 0, 255);
  const bool narrow = Pick(random, 0, 1) == 0;
  output.min = least + (narrow ? Pick(random, 0, 100) : 0);
  output.max = least + 255 - (narrow ? Pick(random, 0, 100) : 0);
  return output;
}

/// One op and two kernels; each has an output of its own.
class KernelPair {
 public:
  KernelPair(const KernelEntry& fast, const char* portable_id)
      : fast_(fast), portable_(Portable(portable_id)) {}

  void AddInput(const Tensor& tensor, bool constant = false) {
    ids_.push_back(static_cast<int32_t>(operands_.size()));
    operands_.push_back(tensor);
    fast_.AddInput(tensor, constant);
    portable_.AddInput(tensor, constant);
  }
  void AddAbsentInput() {
    ids_.push_back(-1);
    fast_.AddAbsentInput();
    portable_.AddAbsentInput();
  }

  /// Inputs 2 to 5 for `channels` outputs, each the sum of `terms` products.
  void AddParameters(int32_t channels, int32_t terms, const GemmOptions& options,
                     Generator& random) {
    AddIf(options.bias, [&] {
      return Words(channels, [&] {
        return options.hostile ? static_cast<int32_t>(random()) : Pick(random, -20000, 20000);
      });
    });
    const int32_t count = options.per_channel ? channels : 1;
    if (options.rounding == Rounding::kHalfEven) {
      AddInput(Factors(count, terms, options, random), kConstant);
      AddAbsentInput();
    } else {
      AddInput(Words(count, [&] { return Multiplier(options, random); }), kConstant);
      AddInput(Shifts(count, terms, options, random), kConstant);
    }
    AddIf(options.zero_point, [&] { return RandomBytes(options.x, {1}, {1}, random); });
  }

  /// Input 7, behind inputs 0 to 5 of an op whose weights have their outputs along `axis`.
  void AddFoldedBias(size_t axis) {
    const Tensor& weights = operands_[static_cast<size_t>(ids_[1])];
    const std::vector<int8_t> w = weights.Values<int8_t>();
    const auto outputs = static_cast<size_t>(weights.dims()[axis]);
    std::vector<int32_t> folded(outputs, 0);
    if (ids_[2] >= 0) folded = operands_[static_cast<size_t>(ids_[2])].Values<int32_t>();
    const auto zero_point = static_cast<uint32_t>(
        ids_[5] < 0 ? 0 : operands_[static_cast<size_t>(ids_[5])].Values<int8_t>()[0]);
    for (size_t i = 0; i < w.size(); ++i) {
      int32_t& sum = folded[axis == 0 ? i / (w.size() / outputs) : i % outputs];
      sum = static_cast<int32_t>(static_cast<uint32_t>(sum) -
                                 zero_point * static_cast<uint32_t>(w[i]));
    }
    AddAbsentInput();
    AddInput(Tensor::From(DType::kI32, {weights.dims()[axis]}, folded), kConstant);
  }

  /// The workspace that the kernel's capabilities ask for, of an op with this output.
  template <typename Attributes>
  void UseWorkspace(const KernelCaps& caps, const Attributes& attributes, const Tensor& output) {
    WithCall(attributes, output,
             [&](const OpCall& call) { set_workspace_bytes(caps.workspace_bytes(call, 1)); });
  }

  /// The least that they say, if they do, or more, at most what they ask for.
  template <typename Attributes>
  void UseSomeWorkspace(const KernelCaps& caps, const Attributes& attributes, const Tensor& output,
                        Generator& random) {
    WithCall(attributes, output, [&](const OpCall& call) {
      const size_t wanted = caps.workspace_bytes(call, 1);
      const size_t least =
          caps.least_workspace_bytes == nullptr ? wanted : caps.least_workspace_bytes(call);
      REQUIRE(least <= wanted);
      const int32_t more = Pick(random, 0, 1) * static_cast<int32_t>(wanted - least);
      set_workspace_bytes(least + static_cast<size_t>(Pick(random, 0, more)));
    });
  }

  /// Whether the capabilities refuse an op with this output.
  template <typename Attributes>
  [[nodiscard]] bool IsRefused(const KernelCaps& caps, const Attributes& attributes,
                               const Tensor& output) const {
    bool is_refused = false;
    WithCall(attributes, output,
             [&](const OpCall& call) { is_refused = static_cast<bool>(caps.supports(call)); });
    return is_refused;
  }

  void AddOutput(DType dtype, const std::vector<int32_t>& dims,
                 const std::vector<int32_t>& strides) {
    outputs_.push_back(fast_.AddOutput(Tensor(dtype, dims, strides)));
    outputs_.push_back(portable_.AddOutput(Tensor(dtype, dims, strides)));
  }
  void set_workspace_bytes(size_t bytes) { fast_.set_workspace_bytes(bytes); }

  template <typename Attributes>
  Status Check(const Attributes& attributes) {
    return fast_.Check(attributes);
  }

  template <typename Attributes>
  void CheckEqual(const Attributes& attributes) {
    const Status status = fast_.Run(attributes);
    INFO("status " << static_cast<int>(status.code()));
    REQUIRE(status.ok());
    REQUIRE(portable_.Run(attributes).ok());
    CHECK(outputs_[0].GapsIntact());
    switch (DTypeBytes(outputs_[0].dtype())) {
      case 4:
        return CheckSame<uint32_t>();
      case 2:
        return CheckSame<uint16_t>();
      default:
        return CheckSame<uint8_t>();
    }
  }

 private:
  template <typename Attributes, typename Use>
  void WithCall(const Attributes& attributes, const Tensor& output, const Use& use) const {
    std::vector<TensorView> views;
    for (const Tensor& operand : operands_) views.push_back(operand.View());
    const auto y = static_cast<int32_t>(views.size());
    views.push_back(output.View());
    OpCall call;
    call.tensors = views.data();
    call.input_ids = {ids_.data(), ids_.size()};
    call.output_ids = {&y, 1};
    call.attributes = &attributes;
    use(call);
  }

  template <typename Element>
  void CheckSame() const {
    const std::vector<Element> actual = outputs_[0].Values<Element>();
    const std::vector<Element> expected = outputs_[1].Values<Element>();
    size_t unlike = 0;
    for (size_t i = 0; i < actual.size(); ++i) unlike += actual[i] != expected[i] ? 1 : 0;
    CHECK(unlike == 0);
  }

  template <typename Make>
  void AddIf(bool is_there, const Make& make) {
    if (is_there) {
      AddInput(make(), kConstant);
    } else {
      AddAbsentInput();
    }
  }

  template <typename Make>
  static Tensor Words(int32_t count, const Make& make) {
    std::vector<int32_t> words(static_cast<size_t>(count));
    for (int32_t& word : words) word = make();
    return Tensor::From(DType::kI32, {count}, words);
  }

  static int32_t Multiplier(const GemmOptions& options, Generator& random) {
    if (!options.hostile) return Pick(random, 1 << 30, std::numeric_limits<int32_t>::max());
    return Pick(random, 0, 3) == 0 ? INT32_MIN : static_cast<int32_t>(random());
  }

  /// Such that outputs spread over the range of a byte: sums do over about 10^4 times the root of
  /// the number of terms.
  static float UsualFactor(int32_t terms, Generator& random) {
    return static_cast<float>(Pick(random, 1, 1000)) * 2e-5F / std::sqrt(static_cast<float>(terms));
  }

  static Tensor Factors(int32_t count, int32_t terms, const GemmOptions& options,
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

  static Tensor Shifts(int32_t count, int32_t terms, const GemmOptions& options,
                       Generator& random) {
    std::vector<int8_t> shifts(static_cast<size_t>(count));
    for (int8_t& shift : shifts) {
      const int exponent = static_cast<int>(std::log2(UsualFactor(terms, random)));
      shift = static_cast<int8_t>(options.hostile ? Pick(random, -128, 127) : exponent);
    }
    return Tensor::From(DType::kI8, {count}, shifts);
  }

  OpFixture fast_;
  OpFixture portable_;
  std::vector<Tensor> operands_;
  std::vector<int32_t> ids_;  ///< of each input among them; -1: absent
  std::vector<Tensor> outputs_;
};

}  // namespace tenon::cpu::testing
