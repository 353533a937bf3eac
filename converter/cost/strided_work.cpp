#include "converter/cost/strided_work.hpp"

#include <cmath>
#include <string_view>

#include "converter/cost/features.hpp"

namespace tenon::converter {
namespace {

/// Says how many elementary operations one unit of a term takes (features_portable.cpp).
struct TermOps {
  std::string_view term;
  double ops;
};

/// Fitted to ops of the sweep of `tenon profile` on one core (Zen 4), and rounded: an element that
/// is fetched by itself takes 0.45 to 0.75 ns beside 1/16 of a ns for an elementary operation.
constexpr TermOps kTermOps[] = {
    {"tile_steps", 150},
    {"staged", 7},
    {"staged_rows", 160},
    {"repeated_rows", 32},
    {"copied", 8},
    {"gathered", 10},
    {"strided", 8},
    {"transposed_tiles", 140},
    {"transposed_singly", 8},
    {"single", 60},
    {"scalar_runs", 40},
    {"rows", 10},
    {"converted", 2},
    {"interleaved", 2},
    {"elements_apart", 6},
};

}  // namespace

int64_t StridedOps(const ProfileOperands& operands) {
  if (!HasKernelTerms(operands.kernel())) return 0;
  double ops = 0;
  for (const CostTerm& amount : KernelTerms(operands, MachineFacts(), 1).terms) {
    for (const TermOps& known : kTermOps) {
      if (amount.name == known.term) ops += known.ops * amount.amount;
    }
  }
  return std::llround(ops);
}

}  // namespace tenon::converter
