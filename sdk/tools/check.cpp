// tenon check: the plan check, with every violation in words.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "converter/aligned_bytes.hpp"
#include "sdk/tools/files.hpp"
#include "sdk/tools/plan_runner.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

/// As the runtime wants memory; of a 32-bit target's std::max_align_t, 8 is the alignment.
struct alignas(16) Unit {
  unsigned char bytes[16];
};

/// Prints every violation of the plan's rules; returns how many there are. A plan that cannot be
/// opened has one.
size_t PrintViolations(const std::vector<uint8_t>& bytes) {
  const AlignedBytes<alignof(Unit)> file(bytes);
  size_t violations = 0;
  tenon_error error;
  size_t scratch_bytes = 0;
  tenon_status status = tenon_plan_scratch_size(file.data(), file.size(), &scratch_bytes, &error);
  if (status != TENON_OK) {
    std::cout << error.message << '\n';
    return 1;
  }
  std::vector<Unit> scratch(scratch_bytes / sizeof(Unit) + 1);
  status = tenon_plan_check(
      file.data(), file.size(), scratch.data(), scratch_bytes,
      [](void* count, const char* violation) {
        ++*static_cast<size_t*>(count);
        std::cout << violation << '\n';
      },
      &violations, &error);
  if (status == TENON_OK) return 0;
  if (violations > 0) return violations;
  std::cout << error.message << '\n';
  return 1;
}

void Check(const std::string& path) {
  // Plan::Open has a copy of its own.
  if (const size_t violations = PrintViolations(ReadFile(path)); violations > 0) {
    Fail(kNo, "{}: {} violation{}", path, violations, violations == 1 ? "" : "s");
  }
  // Operands against the ops' rules, and kernels: known only to a runtime that has them.
  const tenon_backend* backend = tenon_backend_cpu_portable();
  const Expected<Plan> plan = Plan::Open(path, 1, {backend});
  if (!plan && plan.error().status == TENON_CORRUPT_PLAN) {
    std::cout << plan.error().message << '\n';
    Fail(kNo, "{}: 1 violation", path);
  }
  std::cout << path << ": ok\n";
}

}  // namespace

void AddCheck(CLI::App& app) {
  const auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("check", "Checks a plan; prints every violation.");
  command->add_option("PLAN", *path, "Plan file (.tenon)")->required();
  command->callback([path] { Check(*path); });
}

}  // namespace tenon::tool
