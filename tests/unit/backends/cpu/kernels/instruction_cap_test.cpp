// In a program of its own: instruction sets are looked for once.
#include "backends/cpu/kernels/instruction_cap.hpp"

#include <doctest/doctest.h>

#include <string>

#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/q8/choose_instructions.hpp"

namespace tenon::cpu {

TEST_CASE("TENON_MAX_CPU_ISA=avx2 keeps kernels from AVX-512, whatever the processor has") {
  unsetenv("TENON_MAX_CPU_ISA");
  CHECK(MayUseAvx512());
  setenv("TENON_MAX_CPU_ISA", "AVX2", 1);
  CHECK_FALSE(MayUseAvx512());
  setenv("TENON_MAX_CPU_ISA", "avx2", 1);
  CHECK_FALSE(MayUseAvx512());
  for (const f32::Routines* routines : f32::UsableRoutines()) {
    CHECK(std::string(routines->name).find("512") == std::string::npos);
  }
  for (const q8::Instructions instructions : q8::UsableInstructions()) {
    CHECK(std::string(q8::InstructionsName(instructions)).find("512") == std::string::npos);
  }
  CHECK(f32::UsableRoutines().size() >= 1);
  CHECK(q8::UsableInstructions().size() >= 1);
}

}  // namespace tenon::cpu
