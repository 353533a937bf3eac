#include "backends/cpu/kernels/f32/choose_routines.hpp"

#include <cstddef>

#include "backends/cpu/kernels/instruction_cap.hpp"

namespace tenon::cpu::f32 {
namespace {

constexpr size_t kMostTables = 3;

struct Tables {
  const Routines* routines[kMostTables] = {};
  size_t count = 0;

  void Add(const Routines& table) { routines[count++] = &table; }
};

Tables FindUsable() {
  Tables tables;
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool has_avx512 = MayUseAvx512() && __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("avx512vl") != 0 &&
                          __builtin_cpu_supports("avx512dq") != 0 &&
                          __builtin_cpu_supports("avx512bw") != 0;
  if (has_avx2 && has_avx512) tables.Add(kAvx512Routines);
  if (has_avx2) tables.Add(kAvx2Routines);
#elif defined(__aarch64__)
  tables.Add(kNeonRoutines);
#endif
  tables.Add(kGenericRoutines);
  return tables;
}

const Routines* overriding = nullptr;

}  // namespace

Span<const Routines* const> UsableRoutines() {
  static const Tables kTables = FindUsable();
  return {kTables.routines, kTables.count};
}

const Routines& ChosenRoutines() {
  return overriding != nullptr ? *overriding : *UsableRoutines()[0];
}

void OverrideRoutines(const Routines* routines) { overriding = routines; }

}  // namespace tenon::cpu::f32
