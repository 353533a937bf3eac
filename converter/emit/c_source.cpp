#include "converter/emit/c_source.hpp"

#include <algorithm>

#include "converter/emit/firmware_plan.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kMadeBy = "/* Made by `tenon convert --emit=c`; do not edit. */\n";

/// Writes the table of kernels, and the backend that contains it.
std::string KernelTable(const std::string& name, const std::vector<std::string>& kernels) {
  std::string text;
  for (const std::string& kernel : kernels) {
    text += fmt::format("extern const tenon_kernel {};\n", kernel);
  }
  if (kernels.empty()) {
    text += "static const tenon_backend cpu = {\"cpu\", NULL, NULL, 0, {NULL, NULL}, NULL};\n";
  } else {
    text += "\nstatic const tenon_kernel* const kernels[] = {\n";
    for (const std::string& kernel : kernels) text += fmt::format("    &{},\n", kernel);
    text += "};\nstatic const tenon_backend cpu = TENON_BACKEND_CPU_OF(kernels);\n";
  }
  text += "static const tenon_backend* const backends[] = {&cpu};\n";
  return text + fmt::format("const tenon_backends {}_backends = {{backends, 1}};\n", name);
}

std::string PlanArray(const std::string& name, const std::vector<uint8_t>& plan) {
  constexpr size_t kPerLine = 16;
  const std::string macro = CMacro(name);
  std::string text = fmt::format(
      "\nconst uint8_t {0}_plan[{1}_PLAN_BYTES]\n"
      "    __attribute__((section({1}_PLAN_SECTION), aligned({1}_PLAN_ALIGNMENT))) = {{\n",
      name, macro);
  text.reserve(text.size() + plan.size() * 5 + plan.size() / 4);
  for (size_t i = 0; i < plan.size(); ++i) {
    if (i % kPerLine == 0) text += "    ";
    fmt::format_to(std::back_inserter(text), "0x{:02x},", plan[i]);
    if (i % kPerLine == kPerLine - 1 || i + 1 == plan.size()) text += '\n';
  }
  return text + "};\n";
}

std::string CText(const std::vector<uint8_t>& plan, const CSourceOptions& options,
                  const std::vector<std::string>& kernels) {
  return std::string(kMadeBy) + fmt::format("#include \"{}\"\n\n", options.header) +
         fmt::format(
             "#ifndef {0}_PLAN_SECTION\n#define {0}_PLAN_SECTION "
             "\".rodata.tenon_plan\"\n#endif\n\n",
             CMacro(options.identifier)) +
         KernelTable(options.identifier, kernels) + PlanArray(options.identifier, plan);
}

/// Writes tenon_backends, its list, the backend and its kernels as structs that contain only
/// addresses and sizes (tenon.h), all as wide as an address.
std::string AssemblerTable(const std::string& name, const std::vector<std::string>& kernels) {
  // In position-independent code the loader has to write the addresses.
  std::string text = fmt::format(
      "#if defined(__PIC__) || defined(__PIE__)\n"
      "  .section .data.rel.ro.{0}_backends, \"aw\", %progbits\n"
      "#else\n"
      "  .section .rodata.{0}_backends, \"a\", %progbits\n"
      "#endif\n"
      "  .balign __SIZEOF_POINTER__\n"
      "  .global {0}_backends\n"
      "  .type {0}_backends, %object\n"
      "{0}_backends:\n"
      "  ADDRESS .L{0}_list\n"
      "  ADDRESS 1\n"
      "  .size {0}_backends, . - {0}_backends\n"
      ".L{0}_list:\n"
      "  ADDRESS .L{0}_cpu\n"
      ".L{0}_cpu:\n"
      "  ADDRESS .L{0}_name, 0, {1}, {2}, 0, 0, 0\n",
      name, kernels.empty() ? std::string("0") : fmt::format(".L{}_kernels", name), kernels.size());
  if (!kernels.empty()) text += fmt::format(".L{}_kernels:\n", name);
  for (const std::string& kernel : kernels) text += fmt::format("  ADDRESS {}\n", kernel);
  return text + fmt::format(".L{}_name:\n  .asciz \"cpu\"\n", name);
}

std::string AssemblerText(const std::vector<uint8_t>& plan, uint32_t alignment,
                          const CSourceOptions& options, const std::vector<std::string>& kernels) {
  const std::string& name = options.identifier;
  return std::string(kMadeBy) +
         fmt::format("#ifndef {0}_PLAN_FILE\n#define {0}_PLAN_FILE {1}\n#endif\n", CMacro(name),
                     CString(options.plan_file)) +
         fmt::format(
             "#ifndef {0}_PLAN_SECTION\n#define {0}_PLAN_SECTION "
             ".rodata.tenon_plan\n#endif\n",
             CMacro(name)) +
         "#if __SIZEOF_POINTER__ == 8\n#define ADDRESS .8byte\n#else\n#define ADDRESS "
         ".4byte\n#endif\n\n" +
         fmt::format(
             "  .section {1}_PLAN_SECTION, \"a\", %progbits\n"
             "  .balign {2}\n"
             "  .global {0}_plan\n"
             "  .type {0}_plan, %object\n"
             "{0}_plan:\n"
             "  .incbin {1}_PLAN_FILE, 0, {3}\n"
             "  .size {0}_plan, {3}\n\n",
             name, CMacro(name), alignment, plan.size()) +
         AssemblerTable(name, kernels) +
         "\n#ifdef __ELF__\n  .section .note.GNU-stack, \"\", %progbits\n#endif\n";
}

}  // namespace

Result<CSource> EmitCSource(const std::vector<uint8_t>& plan, const CSourceOptions& options) {
  const tenon::Result<PlanView> view = PlanView::Open({plan.data(), plan.size()});
  if (!view.ok()) return InternalError("the plan cannot be read: {}", ToString(view.status()));
  TENON_ASSIGN_OR_RETURN(const std::vector<std::string> kernels, FirmwareKernels(*view));
  CSource result;
  result.header = kMadeBy + CHeaderText(*view, options.identifier);
  result.source = options.plan_file.empty()
                      ? CText(plan, options, kernels)
                      : AssemblerText(plan, PlanMemoryAlignment(*view), options, kernels);
  return result;
}

}  // namespace tenon::converter
