#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "converter/emit/c_source.hpp"
#include "converter/emit/firmware_plan.hpp"

namespace tenon::converter {
namespace {

struct CType {
  const char* enumerator;  ///< of tenon_dtype
  const char* name;        ///< of an element in C
};

CType CTypeOf(DType dtype) {
  constexpr CType kTypes[kDTypeCount] = {
      {"TENON_F32", "float"},    {"TENON_F16", "uint16_t"}, {"TENON_BF16", "uint16_t"},
      {"TENON_F64", "double"},   {"TENON_I8", "int8_t"},    {"TENON_U8", "uint8_t"},
      {"TENON_I16", "int16_t"},  {"TENON_U16", "uint16_t"}, {"TENON_I32", "int32_t"},
      {"TENON_U32", "uint32_t"}, {"TENON_I64", "int64_t"},  {"TENON_U64", "uint64_t"},
      {"TENON_BOOL", "uint8_t"}};
  return kTypes[static_cast<size_t>(dtype)];
}

std::string PortMacros(const ProgramView& program, const PortInfo& port,
                       const std::string& prefix) {
  const TensorInfo tensor = program.tensor(port.tensor);
  int64_t elements = 1;
  for (const int32_t dim : tensor.dims) elements *= dim;
  const CType type = CTypeOf(tensor.dtype);
  std::string text = fmt::format(
      "#define {0}_NAME {1}\n#define {0}_DTYPE {2}\n#define {0}_TYPE {3}\n"
      "#define {0}_ELEMENTS {4}\n#define {0}_BYTES {5}\n",
      prefix, CString(port.name), type.enumerator, type.name, elements,
      elements * DTypeBytes(tensor.dtype));
  if (port.scale != 0 && std::isfinite(port.scale)) {
    text += fmt::format("#define {0}_SCALE {1}\n#define {0}_ZERO_POINT ({2})\n", prefix,
                        CFloat(port.scale), port.zero_point);
  }
  return text;
}

std::string MemoryMacros(const PlanView& plan, const std::string& macro) {
  const ProgramView program = plan.program(0);
  std::string text = fmt::format(
      "/* Memory that the program gives: for a session, one block for each arena. */\n"
      "#define {}_ARENA_COUNT {}\n",
      macro, program.arena_count());
  for (size_t i = 0; i < program.arena_count(); ++i) {
    const ArenaInfo arena = program.arena(i);
    text += fmt::format(
        "#define {0}_ARENA_{1}_SPACE {2}\n#define {0}_ARENA_{1}_BYTES {3}\n"
        "#define {0}_ARENA_{1}_ALIGNMENT {4}\n",
        macro, i, CString(plan.space_name(arena.space)), ArenaBytes(arena), arena.alignment);
  }
  return text + fmt::format(
                    "/* For the states of the plan and of one session together, aligned to 16, "
                    "where addresses\n * have 32 bits. */\n#define {0}_STATE_BYTES {1}\n"
                    "/* While the plan is loaded, aligned to 16; may be an arena's. */\n"
                    "#define {0}_SCRATCH_BYTES {2}\n",
                    macro, FirmwareStateBytes(plan), FirmwareScratchBytes(plan));
}

std::string PortsMacros(const ProgramView& program, const std::string& macro) {
  std::string text = fmt::format(
      "/* Inputs and outputs, in the model's own order. */\n"
      "#define {}_INPUT_COUNT {}\n",
      macro, program.input_count());
  for (size_t i = 0; i < program.input_count(); ++i) {
    const std::string prefix = fmt::format("{}_INPUT_{}", macro, i);
    text += PortMacros(program, program.input(i), prefix);
    // Memory that the program keeps the input in.
    const StorageInfo storage = program.storage(program.tensor_storage(program.input(i).tensor));
    if (program.arena_use(storage.index) == ArenaUse::kPlanned) continue;
    text += fmt::format("#define {}_ARENA {}\n", prefix, storage.index);
  }
  text += fmt::format("#define {}_OUTPUT_COUNT {}\n", macro, program.output_count());
  for (size_t i = 0; i < program.output_count(); ++i) {
    text += PortMacros(program, program.output(i), fmt::format("{}_OUTPUT_{}", macro, i));
  }
  return text;
}

}  // namespace

uint32_t PlanMemoryAlignment(const PlanView& plan) {
  uint32_t alignment = kPlanAlignment;
  for (size_t i = 0; i < plan.section_count(); ++i) {
    alignment = std::max(alignment, plan.section(i).alignment);
  }
  return alignment;
}

std::string CHeaderText(const PlanView& plan, const std::string& identifier) {
  const std::string macro = CMacro(identifier);
  return fmt::format("#ifndef {0}_H_\n#define {0}_H_\n\n#include \"tenon/tenon.h\"\n\n", macro) +
         fmt::format(
             "/* The plan: stays in flash, and is used there. */\n"
             "#define {0}_BOARD {1}\n#define {0}_PLAN_BYTES {2}\n"
             "#define {0}_PLAN_ALIGNMENT {3}\n\n",
             macro, CString(plan.board()), plan.file().size(), PlanMemoryAlignment(plan)) +
         MemoryMacros(plan, macro) + "\n" + PortsMacros(plan.program(0), macro) +
         fmt::format(
             "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
             "extern const uint8_t {0}_plan[{1}_PLAN_BYTES];\n"
             "/* The CPU with the kernels that the plan names, and no others. */\n"
             "extern const tenon_backends {0}_backends;\n\n"
             "#ifdef __cplusplus\n}} /* extern \"C\" */\n#endif\n\n#endif\n",
             identifier, macro);
}

}  // namespace tenon::converter
