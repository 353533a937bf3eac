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

}  // namespace

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
