// Changes of plans that lead to what plans of the converter never hold: other kernels than it
// chooses, lists of other lengths, numbers that no constant has, and two plans in one.
#pragma once

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "runtime/ops/op_row.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"

namespace tenon::fuzz {

/// The number of the kernel in the plan's list, which then names it.
inline uint16_t KernelNumber(test::PlanSpec& spec, const std::string& id) {
  const auto found = std::find(spec.kernels.begin(), spec.kernels.end(), id);
  const auto number = static_cast<uint16_t>(found - spec.kernels.begin());
  if (found == spec.kernels.end()) spec.kernels.push_back(id);
  return number;
}

/// Any kernel of this build, nearly always of the op's own kind: its check must see what it cannot
/// run. Of another kind the op becomes one of that, with as many attributes.
inline void ChangeKernel(test::PlanSpec& spec, std::mt19937& random) {
  const KernelList& kernels = cpu::CpuBackend().kernels;
  test::OpSpec& op = spec.ops[random() % spec.ops.size()];
  const bool any_kind = random() % 16 == 0;
  const size_t first = random();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelEntry& kernel = kernels[(first + i) % kernels.size()];
    const auto kind = static_cast<uint16_t>(kernel.row->kind);
    if (!any_kind && kind != op.kind) continue;
    op.kernel = KernelNumber(spec, kernel.id);
    op.kind = kind;
    op.attributes.resize(kernel.row->attribute_words);
    return;
  }
}

/// A list of operands or attributes with one more, one less, or two that change places.
inline void ChangeLength(std::vector<int32_t>& list, int32_t added, std::mt19937& random) {
  const auto place = [&](size_t places) { return static_cast<ptrdiff_t>(random() % places); };
  if (list.empty() || random() % 3 == 0) {
    list.insert(list.begin() + place(list.size() + 1), added);
  } else if (random() % 2 == 0) {
    list.erase(list.begin() + place(list.size()));
  } else {
    std::swap(list[random() % list.size()], list[random() % list.size()]);
  }
}

inline void ChangeOperands(test::PlanSpec& spec, std::mt19937& random) {
  test::OpSpec& op = spec.ops[random() % spec.ops.size()];
  const auto tensor = static_cast<int32_t>(random() % (spec.tensors.size() + 1)) - 1;
  switch (random() % 8) {
    case 0:
      return ChangeLength(op.attributes, static_cast<int32_t>(random() % 5), random);
    case 1:
      return ChangeLength(op.outputs, tensor, random);
    default:
      return ChangeLength(op.inputs, tensor, random);
  }
}

/// Words that are edges of integers and of floats: places, counts, scales and weights.
inline void ChangeConstant(test::PlanSpec& spec, std::mt19937& random) {
  constexpr uint32_t kWords[] = {0,          1,          2,          0xFFFFFFFF, 0x7FFFFFFF,
                                 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF,
                                 0x00000001, 0x3F800000, 0xBF800000, 0x01010101, 0x4F000000};
  if (spec.sections.empty()) return;
  std::vector<uint8_t>& data = spec.sections[random() % spec.sections.size()].data;
  if (data.size() < 4) return;
  const auto any = static_cast<uint32_t>(random());
  const uint32_t word = random() % 8 == 0 ? any : kWords[random() % std::size(kWords)];
  std::memcpy(data.data() + random() % (data.size() / 4) * 4, &word, 4);
}

/// What one plan says and, beside it, what another says, which runs after it on the first worker.
class Graft {
 public:
  explicit Graft(test::PlanSpec& into)
      : into_(into),
        arenas_(into.arenas.size()),
        sections_(into.sections.size()),
        storages_(into.storages.size()),
        tensors_(into.tensors.size()),
        ops_(into.ops.size()) {}

  void Add(const test::PlanSpec& other) {
    into_.arenas.insert(into_.arenas.end(), other.arenas.begin(), other.arenas.end());
    into_.sections.insert(into_.sections.end(), other.sections.begin(), other.sections.end());
    for (test::StorageSpec storage : other.storages) {
      storage.index =
          static_cast<uint16_t>(storage.index + (storage.constant ? sections_ : arenas_));
      into_.storages.push_back(storage);
    }
    for (test::TensorSpec tensor : other.tensors) {
      tensor.storage += static_cast<uint32_t>(storages_);
      into_.tensors.push_back(std::move(tensor));
    }
    for (const test::OpSpec& op : other.ops) AddOp(other, op);
    for (const test::SegmentSpec& segment : other.segments) AddSegment(segment);
    for (const auto& steps : other.workers) {
      for (const test::StepSpec& step : steps) {
        into_.workers[0].push_back({step.op + static_cast<uint32_t>(ops_), {}});
      }
    }
    for (test::PortSpec port : other.inputs) into_.inputs.push_back(Moved(std::move(port)));
    for (test::PortSpec port : other.outputs) into_.outputs.push_back(Moved(std::move(port)));
  }

 private:
  [[nodiscard]] int32_t Tensor(int32_t tensor) const {
    return tensor < 0 ? tensor : static_cast<int32_t>(static_cast<size_t>(tensor) + tensors_);
  }
  [[nodiscard]] test::PortSpec Moved(test::PortSpec port) const {
    port.name += "2";
    port.tensor += static_cast<uint32_t>(tensors_);
    return port;
  }

  void AddOp(const test::PlanSpec& other, test::OpSpec op) {
    for (int32_t& input : op.inputs) input = Tensor(input);
    for (int32_t& output : op.outputs) output = Tensor(output);
    op.workspace = Tensor(op.workspace);
    op.fallback_workspace = Tensor(op.fallback_workspace);
    op.condition.tensor = Tensor(op.condition.tensor);
    if (op.kernel < other.kernels.size()) op.kernel = KernelNumber(into_, other.kernels[op.kernel]);
    into_.ops.push_back(std::move(op));
  }

  void AddSegment(test::SegmentSpec segment) {
    for (uint32_t& op : segment.ops) op += static_cast<uint32_t>(ops_);
    for (uint32_t& read : segment.reads) read += static_cast<uint32_t>(tensors_);
    for (uint32_t& write : segment.writes) write += static_cast<uint32_t>(tensors_);
    segment.stage = 0;
    into_.segments.push_back(std::move(segment));
  }

  test::PlanSpec& into_;
  size_t arenas_;
  size_t sections_;
  size_t storages_;
  size_t tensors_;
  size_t ops_;
};

/// One of these changes.
inline void ChangePlan(test::PlanSpec& spec, std::mt19937& random) {
  switch (random() % 6) {
    case 0:
    case 1:
    case 2:
      return ChangeKernel(spec, random);
    case 3:
      return ChangeOperands(spec, random);
    default:
      return ChangeConstant(spec, random);
  }
}

}  // namespace tenon::fuzz
