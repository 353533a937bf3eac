// Gives devices the code of the segments that they run by code.
#include "runtime/engine/loaded_plan.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon {
namespace {

constexpr char kNoCode[] = "backend '{s}' runs no code, and a segment of the plan has nothing else";

}  // namespace

/// True unless the CPU runs the op: no kernel is called then.
bool LoadedPlan::IsRunByCode(const BoundOp& op) const {
  return !codes_.empty() && op.backend == program_.segment(op.segment).backend &&
         program_.segment_code_count(op.segment) > 0;
}

/// Where a device is at fault, `failed` says which.
Status LoadedPlan::LoadCodes(size_t* failed) {
  for (size_t s = 0; s < codes_.size(); ++s) {
    const SegmentInfo segment = program_.segment(s);
    if (program_.segment_code_count(s) == 0 || replaced_[segment.backend]) continue;
    void* loaded = nullptr;
    const Status status = LoadCode(s, &loaded);
    if (status.ok()) {
      codes_[s] = loaded;
      continue;
    }
    UnloadCodes();  // before anything else takes the device's place
    *failed = segment.backend;
    return status.In(program_.op(segment.ops[0]).name).In(backends_[segment.backend]->name);
  }
  return OkStatus();
}

Status LoadedPlan::LoadCode(size_t segment, void** loaded) {
  const size_t backend = program_.segment(segment).backend;
  const DeviceApi* api = backends_[backend]->device;
  if (api == nullptr || api->load_code == nullptr) {
    return Status(StatusCode::kUnsupported, kNoCode).About(backends_[backend]->name);
  }
  const SegmentCodeInfo info = program_.segment_code(segment);
  // The plan check has proven that all of this lies in its sections.
  CodeWindow windows[kMaxCodeWindows];
  for (size_t i = 0; i < info.relocation_count; ++i) {
    const RelocationInfo relocation = program_.segment_relocation(segment, i);
    CodeWindow& window = windows[i];
    window.base_register = relocation.base_register;
    window.writes = relocation.writes;
    window.bytes = static_cast<size_t>(relocation.bytes);
    for (size_t first = 0; first <= i; ++first) {
      const RelocationInfo leading = program_.segment_relocation(segment, first);
      if (leading.base_register != relocation.base_register) continue;
      window.from_base = relocation.offset - leading.offset;
      break;
    }
    if (relocation.home == StorageHome::kSection) {
      window.constants = view_.section_data(relocation.index) + relocation.offset;
    }
  }
  SegmentCode code;
  code.bytes = Span<const uint8_t>(view_.section_data(info.section) + info.offset,
                                   static_cast<size_t>(info.bytes));
  code.windows = Span<const CodeWindow>(windows, info.relocation_count);
  code.accelerator = info.accelerator;
  code.version = info.version;
  code.parameters = info.parameters;
  code.image = info.image;
  return api->load_code(devices_[backend], code, loaded);
}

/// What is told to a device of a group, one op after the other.
struct LoadedPlan::GroupContext {
  const LoadedPlan* plan;
  Span<const uint32_t> ops;
  const TensorView* tensors;

  static GroupOp Op(const void* context, size_t index) {
    const auto& group = *static_cast<const GroupContext*>(context);
    const uint32_t op = group.ops[index];
    const OpInfo info = group.plan->program_.op(op);
    const BoundOp& bound = group.plan->ops_[op];
    const char* const planned = group.plan->view_.kernel(info.kernel);
    // Another kernel than the planned one may have been chosen.
    const char* const kernel = NamesKernel(planned, bound.kernel->id) ? planned : bound.kernel->id;
    return GroupOp{static_cast<OpKind>(info.kind), kernel, bound.Call(group.tensors)};
  }
};

/// A device that refuses a group's source starts its ops one by one instead, which the notice says.
void LoadedPlan::LoadGroups(const TensorView* tensors) {
  for (size_t g = 0; g < groups_.size(); ++g) {
    const GroupInfo group = program_.group(g);
    const size_t backend = ops_[group.ops[0]].backend;
    const DeviceApi* api = backends_[backend]->device;
    if (group.source[0] == '\0' || api == nullptr || api->load_group == nullptr) continue;
    const GroupContext context = {this, group.ops, tensors};
    const GroupCode code = {group.source, group.arguments, group.ops.size(), &context,
                            GroupContext::Op};
    void* loaded = nullptr;
    const Status status = api->load_group(devices_[backend], code, &loaded);
    if (status.ok()) {
      groups_[g] = loaded;
      continue;
    }
    Note(status.In(program_.op(group.ops[0]).name).In(backends_[backend]->name),
         "; the ops of its group start one by one");
  }
}

void LoadedPlan::UnloadGroups() {
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g] == nullptr) continue;
    const size_t backend = ops_[program_.group(g).ops[0]].backend;
    backends_[backend]->device->unload_group(devices_[backend], groups_[g]);
    groups_[g] = nullptr;
  }
}

void LoadedPlan::UnloadCodes() {
  for (size_t s = 0; s < codes_.size(); ++s) {
    if (codes_[s] == nullptr) continue;
    const size_t backend = program_.segment(s).backend;
    backends_[backend]->device->unload_code(devices_[backend], codes_[s]);
    codes_[s] = nullptr;
  }
}

}  // namespace tenon
