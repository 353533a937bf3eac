// Plan check, part 2 for groups: ops that start together are neighbours. That none of them uses
// what another one writes follows from the clocks, which they have in common
// (plan_check_order.cpp).
#include <cstring>

#include "runtime/base/crc32c.hpp"
#include "runtime/format/plan_check_workers.hpp"

namespace tenon::plan_check {

bool CheckGroupIndices(ProgramCheck& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  for (size_t i = 0; i < check.ops; ++i) check.group[i] = kNoGroup;
  for (size_t g = 0; g < program.group_count(); ++g) {
    const GroupInfo group = program.group(g);
    if (group.ops.size() < 2 || group.ops.size() > kMaxGroupOps) {
      check.Fail(program.name(), "group {0} has {1} ops: 2 to 32 can start together", g,
                 group.ops.size());
      continue;
    }
    for (const uint32_t op : group.ops) {
      if (op >= check.ops || check.group[op] != kNoGroup) {
        check.Fail(program.name(), "group {0}: no op {1}, or it is in two groups", g, op);
        continue;
      }
      check.group[op] = static_cast<uint32_t>(g);
    }
    const size_t length = std::strlen(group.source);
    if (length == 0) continue;
    if (group.arguments.size() < group.ops.size()) {
      check.Fail(program.name(), "group {0}: its source makes {1} launches, fewer than it has ops",
                 g, group.arguments.size());
    }
    if (Crc32c(group.source, length) != group.source_crc32c) {
      check.Fail(program.name(), "group {0}: its source is damaged: its check sum is wrong", g);
    }
  }
  return check.reporter.count() == before;
}

bool CheckGroupSteps(ProgramCheck& check) {
  const ProgramView& program = check.program;
  const size_t before = check.reporter.count();
  for (size_t g = 0; g < program.group_count(); ++g) {
    const Span<const uint32_t> ops = program.group(g).ops;
    for (size_t i = 1; i < ops.size(); ++i) {
      const bool follows = check.worker[ops[i]] == check.worker[ops[0]] &&
                           check.segment[ops[i]] == check.segment[ops[0]] &&
                           check.step[ops[i]] == check.step[ops[0]] + i;
      if (!follows || program.step(check.worker[ops[i]], check.step[ops[i]]).wait_count > 0) {
        check.Fail(program.op(ops[i]).name,
                   "group {0}: its ops are not consecutive steps of one segment of which only the "
                   "first waits",
                   g);
        break;
      }
    }
  }
  return check.reporter.count() == before;
}

}  // namespace tenon::plan_check
