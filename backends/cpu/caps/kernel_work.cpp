#include "backends/cpu/caps/kernel_work.hpp"

#include "backends/cpu/caps/f32_caps.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/kernel_name.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu {
namespace {

/// Each of 36 coefficients of a tile of 16 outputs is one product of all inputs with all outputs.
/// The transforms, vector arithmetic too, take as long as so many products for a coefficient of a
/// channel, and reading a weight as long as so many: measured in ResNet-50, DenseNet-121 and
/// GoogLeNet on Zen 3 and Zen 4 (AVX2).
int64_t WinogradProducts(const OpCall& call) {
  constexpr int64_t kForTransforms = 20;
  constexpr int64_t kForWeights = 6;
  const f32::WinogradBlocks blocks = f32::WinogradBlocksOf(call);
  const int64_t inputs = call.Input(0).dims[1];
  const int64_t outputs = call.Output().dims[1];
  const int64_t transformed = blocks.padded_inputs + RoundUp<int64_t>(outputs, f32::kWidthStep);
  return int64_t{kWinogradCoefficients} * ((blocks.tiles + kForWeights) * inputs * outputs +
                                           blocks.tiles * kForTransforms * transformed);
}

struct Row {
  const char* kernel;
  int64_t (*products)(const OpCall& call);
};

constexpr Row kRows[] = {{"cpu.conv.vector_winograd", WinogradProducts}};

}  // namespace

int64_t OwnProducts(const char* name, const OpCall& call) {
  for (const Row& row : kRows) {
    if (NamesKernel(name, row.kernel)) return row.products(call);
  }
  return -1;
}

}  // namespace tenon::cpu
