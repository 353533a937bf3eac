#include "backends/cpu/kernels/q8/choose_instructions.hpp"

#include <cstddef>

#include "backends/cpu/kernels/instruction_cap.hpp"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace tenon::cpu::q8 {
namespace {

struct Sets {
  Instructions usable[kInstructionsCount] = {};
  size_t count = 0;

  void Add(Instructions instructions) { usable[count++] = instructions; }
};

#if defined(__aarch64__)
/// Adds what the system says that the processor has; on others than Linux nobody says.
void AddOfBytes(Sets& sets) {
#if defined(__linux__)
  const bool has_dot_products = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  const bool has_matrix_products = (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
  if (has_dot_products && has_matrix_products) sets.Add(Instructions::kNeonI8mm);
  if (has_dot_products) sets.Add(Instructions::kNeonDot);
#else
  (void)sets;
#endif
}
#endif

Sets FindUsable() {
  Sets sets;
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool has_avx512 =
      MayUseAvx512() && __builtin_cpu_supports("avx512f") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
  if (has_avx2 && has_avx512) sets.Add(Instructions::kAvx512Vnni);
  if (has_avx2) sets.Add(Instructions::kAvx2);
#elif defined(__aarch64__)
  AddOfBytes(sets);
  sets.Add(Instructions::kNeon);
#endif
  sets.Add(Instructions::kGeneric);
  return sets;
}

Instructions overriding = Instructions::kGeneric;
bool is_overridden = false;

}  // namespace

Span<const Instructions> UsableInstructions() {
  static const Sets kSets = FindUsable();
  return {kSets.usable, kSets.count};
}

Instructions ChosenInstructions() { return is_overridden ? overriding : UsableInstructions()[0]; }

void OverrideInstructions(const Instructions* instructions) {
  is_overridden = instructions != nullptr;
  if (is_overridden) overriding = *instructions;
}

const char* InstructionsName(Instructions instructions) {
  constexpr const char* kNames[kInstructionsCount] = {"generic", "avx2",    "avx512vnni",
                                                      "neon",    "neondot", "neoni8mm"};
  return kNames[static_cast<int>(instructions)];
}

bool HasVbmi() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vbmi") != 0;
#else
  return false;
#endif
}

}  // namespace tenon::cpu::q8
