#include "converter/cost/strided_work.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "converter/cost/features.hpp"

namespace tenon::converter {
namespace {

/// Says how many elementary operations one unit of a term takes (features_portable.cpp and
/// features_elementwise.cpp).
struct TermOps {
  std::string_view kernel;  ///< what its id begins with; the first row that fits counts
  std::string_view term;
  double ops;
};

/// Fitted to ops of the sweep of `tenon profile` on one core (Zen 4), and rounded: an element that
/// is fetched by itself takes 0.45 to 0.75 ns beside 1/16 of a ns for an elementary operation.
constexpr TermOps kTermOps[] = {
    {"", "staged", 7},
    {"", "staged_rows", 220},
    {"", "repeated_rows", 32},
    {"", "copied", 8},
    {"", "gathered", 10},
    {"cpu.gather.", "strided", 40},
    {"", "strided", 8},
    {"", "transposed_tiles", 140},
    {"", "transposed_singly", 8},
    {"", "single", 60},
    {"", "scalar_runs", 18},
    {"", "blocks", 300},
    {"cpu.pad.", "rows", 120},
    {"cpu.cast.", "rows", 170},
    {"cpu.unary.", "rows", 120},
    {"cpu.binary.portable", "rows", 60},
    {"", "rows", 10},
    {"", "converted", 2},
    {"", "interleaved", 2},
    {"", "elements_apart", 6},
    {"", "column_elements", 20},
};

double OpsOf(std::string_view kernel, std::string_view term) {
  for (const TermOps& known : kTermOps) {
    if (term == known.term && kernel.starts_with(known.kernel)) return known.ops;
  }
  return 0;
}

/// Returns the bytes of the cache lines that a tensor's elements lie in, less those of the
/// elements.
int64_t BytesBetween(const TensorView& view) {
  constexpr int64_t kLine = 64;
  const int64_t element = DTypeBytes(view.dtype);
  int64_t run = element;  // bytes that follow each other
  int64_t elements = 1;   // of these
  bool grows = true;
  while (grows) {
    grows = false;
    for (int axis = 0; axis < view.rank; ++axis) {
      if (view.dims[axis] == 1 || view.strides[axis] != elements) continue;
      elements *= view.dims[axis];
      run = elements * element;
      grows = true;
      break;
    }
  }
  if (run >= kLine) return 0;
  int64_t runs = 1;
  int64_t apart = kLine;  // from run to run
  for (int axis = 0; axis < view.rank; ++axis) {
    const int64_t stride = view.strides[axis] * element;
    if (view.dims[axis] == 1 || stride < run || stride == 0) continue;  // inside, or repeated
    runs *= view.dims[axis];
    apart = std::min(apart, stride);
  }
  return runs > 1 ? runs * (apart - run) : 0;
}

}  // namespace

int64_t BytesBesideElements(const ProfileOperands& operands) {
  int64_t most = 0;
  const OpCall& call = operands.call();
  for (int i = 0; i < call.InputCount(); ++i) {
    if (call.HasInput(i) && call.Input(i).data == nullptr) {
      most = std::max(most, BytesBetween(call.Input(i)));
    }
  }
  for (int i = 0; i < static_cast<int>(call.output_ids.size()); ++i) {
    most = std::max(most, BytesBetween(call.Output(i)));
  }
  return most;
}

int64_t StridedOps(const ProfileOperands& operands) {
  if (!HasKernelTerms(operands.kernel())) return 0;
  double ops = 0;
  for (const CostTerm& amount : KernelTerms(operands, MachineFacts(), 1).terms) {
    // The first row is in what every op costs.
    const double units = amount.name == "rows" ? std::max(0.0, amount.amount - 1) : amount.amount;
    ops += OpsOf(operands.kernel(), amount.name) * units;
  }
  return std::llround(ops);
}

}  // namespace tenon::converter
