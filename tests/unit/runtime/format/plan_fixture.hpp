// Writes small plan files for tests: what the tables of sdk/schema/plan.fbs hold, as plain structs.
#pragma once

#include <plan_generated.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/base/crc32c.hpp"
#include "runtime/base/dtype.hpp"
#include "runtime/format/plan_check.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::test {

struct SectionSpec {
  std::vector<uint8_t> data;
  uint32_t alignment = 64;
  uint16_t space = 0;
};

struct StorageSpec {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool constant = false;
  uint16_t index = 0;
  bool in_device = false;
};

struct TensorSpec {
  std::string name;
  uint32_t storage = 0;
  uint64_t offset = 0;
  std::vector<int32_t> dims;
  std::vector<int32_t> strides;
  uint8_t dtype = static_cast<uint8_t>(DType::kF32);
};

struct OpSpec {
  std::string name;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  uint16_t kind = 4;  // unary
  uint16_t kernel = 0;
  std::vector<int32_t> attributes = {0, 0, 0};
  int32_t workspace = -1;
  int32_t in_place = -1;
  int32_t fallback_kernel = -1;
  int32_t fallback_workspace = -1;
  OpCondition condition = {};
};

struct StepSpec {
  uint32_t op = 0;
  std::vector<WaitInfo> waits;
};

struct CodeSpec {
  uint16_t section = 0;
  uint64_t offset = 0;
  uint64_t bytes = 64;
  std::vector<RelocationInfo> relocations;
  std::vector<uint32_t> image;
  std::string accelerator = "accelerator";
  std::vector<uint32_t> parameters = {8, 8, 1};
  uint32_t version = 1;
};

struct SegmentSpec {
  std::vector<uint32_t> ops;
  uint16_t backend = 0;
  uint16_t stage = 0;
  std::vector<uint32_t> reads = {};
  std::vector<uint32_t> writes = {};
  std::vector<CodeSpec> code = {};
};

struct ChannelSpec {
  uint16_t from = 0;
  uint16_t to = 0;
  std::vector<uint32_t> tensors;
  uint16_t depth = 1;
  uint16_t arena = 0;
};

struct GroupSpec {
  std::vector<uint32_t> ops;
  std::string source = {};
  uint32_t crc = 0;
  std::vector<uint32_t> arguments = {};
};

struct ArenaSpec {
  uint64_t bytes = 4096;
  uint32_t alignment = 64;
  uint16_t space = 0;
  uint16_t slots = 1;
  ArenaUse use = ArenaUse::kPlanned;
};

struct PortSpec {
  std::string name;
  uint32_t tensor = 0;
  float scale = 0.0F;
  int32_t zero_point = 0;
};

inline std::string Numbered(const char* prefix, size_t number) {
  std::string name = prefix;
  name += std::to_string(number);  // not operator+: GCC 12 warns of a copy that cannot happen
  return name;
}

inline std::vector<int32_t> RowMajor(const std::vector<int32_t>& dims) {
  std::vector<int32_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * dims[i - 1];
  return strides;
}

struct PlanSpec {
  uint16_t version_major = kPlanVersionMajor;
  uint16_t version_minor = kPlanVersionMinor;
  std::vector<std::string> spaces = {"ram"};
  std::vector<std::string> backends = {"cpu"};
  std::vector<std::string> kernels = {"cpu.unary.generic"};
  std::vector<SectionSpec> sections;

  uint8_t mode = 0;
  std::vector<ArenaSpec> arenas = {{}};
  std::vector<StorageSpec> storages;
  std::vector<TensorSpec> tensors;
  std::vector<OpSpec> ops;
  std::vector<std::vector<StepSpec>> workers = {{}};
  std::vector<SegmentSpec> segments = {{}};
  std::vector<ChannelSpec> channels;
  std::vector<uint16_t> stages = {0};
  std::vector<PortSpec> inputs;
  std::vector<PortSpec> outputs;
  std::vector<StateInfo> states;
  std::vector<GroupSpec> groups = {};

  uint32_t AddStorage(uint64_t offset, uint64_t bytes) {
    storages.push_back({offset, bytes});
    return static_cast<uint32_t>(storages.size() - 1);
  }
  uint32_t AddTensor(uint32_t storage, std::vector<int32_t> dims, uint64_t offset = 0,
                     std::vector<int32_t> strides = {}, DType dtype = DType::kF32) {
    if (strides.empty()) strides = RowMajor(dims);
    tensors.push_back({Numbered("t", tensors.size()), storage, offset, std::move(dims),
                       std::move(strides), static_cast<uint8_t>(dtype)});
    return static_cast<uint32_t>(tensors.size() - 1);
  }
  /// A storage at `offset` of the arena with one tensor of `elements` f32 on it.
  uint32_t AddBuffer(uint64_t offset, int32_t elements) {
    return AddTensor(AddStorage(offset, static_cast<uint64_t>(elements) * 4), {elements});
  }
  /// An op, its step on `worker`, and its place in `segment`.
  uint32_t AddOp(const std::vector<uint32_t>& reads, const std::vector<uint32_t>& writes,
                 size_t worker = 0, std::vector<WaitInfo> waits = {}, size_t segment = 0) {
    const auto id = static_cast<uint32_t>(ops.size());
    OpSpec op;
    op.name = Numbered("op", id);
    op.inputs.assign(reads.begin(), reads.end());
    op.outputs.assign(writes.begin(), writes.end());
    ops.push_back(std::move(op));
    if (workers.size() <= worker) workers.resize(worker + 1);
    workers[worker].push_back({id, std::move(waits)});
    if (segments.size() <= segment) segments.resize(segment + 1);
    segments[segment].ops.push_back(id);
    return id;
  }
  void AddInput(uint32_t tensor) { inputs.push_back({"in", tensor}); }
  void AddOutput(uint32_t tensor) { outputs.push_back({"out", tensor}); }

  [[nodiscard]] std::vector<uint8_t> Write() const;

 private:
  [[nodiscard]] flatbuffers::Offset<plan::Program> WriteProgram(
      flatbuffers::FlatBufferBuilder& builder) const;
};

inline flatbuffers::Offset<plan::SegmentCode> WriteCode(flatbuffers::FlatBufferBuilder& builder,
                                                        const CodeSpec& code) {
  std::vector<plan::Relocation> relocations;
  for (const RelocationInfo& r : code.relocations) {
    relocations.emplace_back(r.offset, r.bytes, r.index, static_cast<plan::StorageHome>(r.home),
                             r.base_register, r.writes ? 1 : 0);
  }
  return plan::CreateSegmentCodeDirect(builder, code.section, code.offset, code.bytes,
                                       code.accelerator.c_str(), code.version, &code.parameters,
                                       code.image.empty() ? nullptr : &code.image, &relocations);
}

inline flatbuffers::Offset<plan::Program> PlanSpec::WriteProgram(
    flatbuffers::FlatBufferBuilder& builder) const {
  std::vector<flatbuffers::Offset<plan::Arena>> arena_list;
  for (const auto& a : arenas) {
    arena_list.push_back(plan::CreateArena(builder, a.space, a.bytes, a.alignment, 0, a.slots,
                                           static_cast<plan::ArenaUse>(a.use)));
  }
  std::vector<plan::Storage> storage_list;
  for (const auto& s : storages) {
    storage_list.emplace_back(s.offset, s.bytes, s.index,
                              s.in_device  ? plan::StorageHome::device
                              : s.constant ? plan::StorageHome::section
                                           : plan::StorageHome::arena);
  }
  std::vector<flatbuffers::Offset<plan::Tensor>> tensor_list;
  for (const auto& t : tensors) {
    tensor_list.push_back(plan::CreateTensorDirect(builder, t.name.c_str(), t.dtype, 0, t.storage,
                                                   t.offset, &t.dims, &t.strides));
  }
  std::vector<flatbuffers::Offset<plan::Op>> op_list;
  for (const auto& o : ops) {
    op_list.push_back(plan::CreateOpDirect(builder, o.name.c_str(), o.kind, o.kernel, &o.inputs,
                                           &o.outputs, &o.attributes, o.workspace, o.in_place,
                                           o.fallback_kernel, o.fallback_workspace,
                                           o.condition.tensor, o.condition.runs_if));
  }
  std::vector<flatbuffers::Offset<plan::Worker>> worker_list;
  for (const auto& steps : workers) {
    std::vector<flatbuffers::Offset<plan::Step>> step_list;
    for (const auto& s : steps) {
      std::vector<plan::Wait> waits;
      for (const auto& w : s.waits) waits.emplace_back(w.worker, w.step);
      step_list.push_back(plan::CreateStepDirect(builder, s.op, waits.empty() ? nullptr : &waits));
    }
    worker_list.push_back(plan::CreateWorkerDirect(builder, &step_list));
  }
  std::vector<flatbuffers::Offset<plan::Segment>> segment_list;
  for (const auto& s : segments) {
    std::vector<flatbuffers::Offset<plan::SegmentCode>> code;
    for (const auto& c : s.code) code.push_back(WriteCode(builder, c));
    segment_list.push_back(plan::CreateSegmentDirect(builder, s.backend, &s.ops, s.stage, &s.reads,
                                                     &s.writes, code.empty() ? nullptr : &code));
  }
  std::vector<flatbuffers::Offset<plan::Channel>> channel_list;
  for (const auto& c : channels) {
    channel_list.push_back(
        plan::CreateChannelDirect(builder, c.from, c.to, &c.tensors, c.depth, c.arena));
  }
  std::vector<flatbuffers::Offset<plan::Stage>> stage_list;
  for (const uint16_t worker : stages) stage_list.push_back(plan::CreateStage(builder, worker));
  std::vector<flatbuffers::Offset<plan::Port>> ports[2];
  for (const auto& p : inputs) {
    ports[0].push_back(
        plan::CreatePortDirect(builder, p.name.c_str(), p.tensor, p.scale, p.zero_point));
  }
  for (const auto& p : outputs) {
    ports[1].push_back(
        plan::CreatePortDirect(builder, p.name.c_str(), p.tensor, p.scale, p.zero_point));
  }
  std::vector<plan::State> state_list;
  for (const StateInfo& s : states) state_list.emplace_back(s.read, s.write, s.initial);
  std::vector<flatbuffers::Offset<plan::Group>> group_list;
  for (const auto& g : groups) {
    group_list.push_back(
        plan::CreateGroupDirect(builder, &g.ops, g.source.c_str(), g.crc, &g.arguments));
  }
  return plan::CreateProgramDirect(builder, "main", static_cast<plan::ProgramMode>(mode),
                                   &arena_list, &storage_list, &tensor_list, &op_list, &worker_list,
                                   &segment_list, &channel_list, &stage_list, &ports[0], &ports[1],
                                   &state_list, group_list.empty() ? nullptr : &group_list);
}

/// The file's own header, wherever it lies.
inline plan::FileHeader* HeaderOf(std::vector<uint8_t>& file) {
  return const_cast<plan::FileHeader*>(plan::GetPlan(file.data())->header());
}

/// Makes the header's sum right for a header that starts at `position` of the file.
inline void SealAt(std::vector<uint8_t>& file, size_t position) {
  uint32_t bytes = 0;
  std::memcpy(&bytes, file.data() + position, 4);
  if (bytes > file.size()) return;
  std::memset(file.data() + position + 4, 0, 4);
  const uint32_t crc = Crc32c(file.data(), bytes);
  std::memcpy(file.data() + position + 4, &crc, 4);
}

inline size_t HeaderPosition(std::vector<uint8_t>& file) {
  return static_cast<size_t>(reinterpret_cast<uint8_t*>(HeaderOf(file)) - file.data());
}

inline void Seal(std::vector<uint8_t>& file) { SealAt(file, HeaderPosition(file)); }

inline std::vector<uint8_t> PlanSpec::Write() const {
  // Twice: the sections' places depend on the FlatBuffer's size, which does not depend on them.
  std::vector<uint8_t> file;
  for (int round = 0; round < 2; ++round) {
    size_t end = file.size();
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    const auto program = WriteProgram(builder);
    std::vector<flatbuffers::Offset<plan::Program>> programs = {program};
    std::vector<flatbuffers::Offset<plan::MemorySpace>> space_list;
    for (const auto& s : spaces) {
      space_list.push_back(plan::CreateMemorySpaceDirect(builder, s.c_str()));
    }
    std::vector<flatbuffers::Offset<plan::Section>> section_list;
    std::vector<size_t> places;
    for (const auto& s : sections) {
      end = (end + s.alignment - 1) / s.alignment * s.alignment;
      places.push_back(end);
      section_list.push_back(plan::CreateSectionDirect(builder, "weights", s.space, end,
                                                       s.data.size(), s.alignment,
                                                       Crc32c(s.data.data(), s.data.size())));
      end += s.data.size();
    }
    const auto backend_list = builder.CreateVectorOfStrings(backends);
    const auto kernel_list = builder.CreateVectorOfStrings(kernels);
    const plan::FileHeader header(static_cast<uint32_t>(file.size()), 0);
    const auto board = builder.CreateString("host");
    const auto producer = builder.CreateString("test");
    const auto spaces_offset = builder.CreateVector(space_list);
    const auto sections_offset = builder.CreateVector(section_list);
    const auto programs_offset = builder.CreateVector(programs);
    builder.Finish(plan::CreatePlan(builder, &header, version_major, version_minor, producer, board,
                                    0, 0, spaces_offset, sections_offset, backend_list, kernel_list,
                                    programs_offset),
                   plan::PlanIdentifier());
    file.assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    if (round == 0) continue;
    file.resize(end > file.size() ? end : file.size());
    for (size_t i = 0; i < sections.size(); ++i) {
      if (!sections[i].data.empty()) {
        std::memcpy(file.data() + places[i], sections[i].data.data(), sections[i].data.size());
      }
    }
  }
  Seal(file);
  return file;
}

/// The violation's text, or "" for a plan that passes.
inline std::string Check(const PlanView& view) {
  std::vector<uint8_t> scratch(PlanCheckScratchBytes(view));
  const Status status = CheckPlan(view, Span<uint8_t>(scratch.data(), scratch.size()));
  if (status.ok()) return "";
  char text[256];
  status.Format(Span<char>(text, sizeof text));
  return text;
}

inline std::string Check(const PlanSpec& spec) {
  const std::vector<uint8_t> file = spec.Write();
  const Result<PlanView> view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  return view.ok() ? Check(*view) : "does not open";
}

/// in -> op0 -> a -> op1 -> out, one after the other in the arena.
inline PlanSpec Chain() {
  PlanSpec spec;
  const uint32_t in = spec.AddBuffer(0, 16);
  const uint32_t middle = spec.AddBuffer(64, 16);
  const uint32_t out = spec.AddBuffer(128, 16);
  spec.AddOp({in}, {middle});
  spec.AddOp({middle}, {out});
  spec.AddInput(in);
  spec.AddOutput(out);
  return spec;
}

}  // namespace tenon::test
