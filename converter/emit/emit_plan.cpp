#include "converter/emit/emit_plan.hpp"

#include <algorithm>
#include <cstring>

#include "converter/emit/program_writer.hpp"
#include "runtime/base/crc32c.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {
namespace {

namespace fb = tenon::plan;

class Emitter {
 public:
  Emitter(const std::vector<ProgramToEmit>& programs, const EmitOptions& options)
      : programs_(programs), options_(options), builder_(tables_.builder) {
    tables_.memory_space = options.memory_space;
    tables_.constants_space = options.constants_space;
    tables_.arena_alignment = options.arena_alignment;
  }

  Result<std::vector<uint8_t>> Run() {
    std::vector<flatbuffers::Offset<fb::Program>> programs;
    for (const ProgramToEmit& program : programs_) {
      TENON_ASSIGN_OR_RETURN(const auto written, ProgramWriter(program, tables_).Write());
      programs.push_back(written);
    }
    if (tables_.kernels.names().size() > UINT16_MAX) {
      return InternalError("the plan would name {} kernels: 65535 at most",
                           tables_.kernels.names().size());
    }
    WritePlan(programs);
    return Assemble();
  }

 private:
  struct SectionToWrite {
    const char* name;
    const SectionBuilder* builder;
  };
  /// The place of code does not depend on whether there are constants.
  [[nodiscard]] std::vector<SectionToWrite> Sections() const {
    std::vector<SectionToWrite> sections;
    const bool has_code = tables_.code.IsUsed();
    if (tables_.constants.IsUsed() || has_code) {
      sections.push_back({"constants", &tables_.constants});
    }
    if (has_code) sections.push_back({"code", &tables_.code});
    return sections;
  }

  void WritePlan(const std::vector<flatbuffers::Offset<fb::Program>>& programs) {
    std::vector<flatbuffers::Offset<fb::Option>> options;
    for (const auto& [name, value] : options_.options) {
      options.push_back(
          fb::CreateOption(builder_, builder_.CreateString(name), builder_.CreateString(value)));
    }
    std::vector<flatbuffers::Offset<fb::MemorySpace>> spaces;
    for (const std::string& space : tables_.spaces.names()) {
      spaces.push_back(fb::CreateMemorySpace(builder_, builder_.CreateString(space)));
    }
    std::vector<flatbuffers::Offset<fb::Section>> sections;
    for (const SectionToWrite& section : Sections()) {
      // Defaults are not stored: the offset and the checksum are patched below and must have bytes
      // of their own.
      builder_.ForceDefaults(true);
      sections.push_back(fb::CreateSection(builder_, builder_.CreateString(section.name),
                                           tables_.SpaceIndex(options_.constants_space), 0,
                                           section.builder->size(), options_.section_alignment, 0));
      builder_.ForceDefaults(false);
    }
    const fb::FileHeader header(0, 0);  // patched when the size is known
    const auto plan = fb::CreatePlan(
        builder_, &header, kPlanVersionMajor, kPlanVersionMinor,
        builder_.CreateString("tenon " TENON_VERSION), builder_.CreateString(options_.board),
        options_.board_fingerprint, builder_.CreateVector(options), builder_.CreateVector(spaces),
        builder_.CreateVector(sections), builder_.CreateVectorOfStrings(tables_.backends.names()),
        builder_.CreateVectorOfStrings(tables_.kernels.names()), builder_.CreateVector(programs));
    fb::FinishPlanBuffer(builder_, plan);
  }

  /// The record of decisions comes behind: where it fits, no constants are copied again.
  static constexpr size_t kRoomBehind = size_t{4} << 20;

  /// Writes the FlatBuffer, then the constants. Patches what was unknown before: the sections'
  /// offsets and checksums, the FlatBuffer's size and its checksum.
  [[nodiscard]] Result<std::vector<uint8_t>> Assemble() const {
    std::vector<uint8_t> file(builder_.GetBufferPointer(),
                              builder_.GetBufferPointer() + builder_.GetSize());
    const size_t header_bytes = RoundUp(file.size(), kPlanAlignment);
    if (header_bytes > INT32_MAX) {
      return InternalError("the plan without its constants has {} bytes: 2 GB at most",
                           header_bytes);
    }
    file.resize(header_bytes, 0);
    const std::vector<SectionToWrite> sections = Sections();
    size_t file_bytes = file.size();
    for (const SectionToWrite& section : sections) {
      file_bytes = RoundUp(file_bytes, options_.section_alignment) + section.builder->size();
    }
    file.reserve(file_bytes + kRoomBehind);
    for (uint32_t i = 0; i < sections.size(); ++i) {
      const size_t offset = RoundUp(file.size(), options_.section_alignment);
      file.resize(offset, 0);
      sections[i].builder->AppendTo(file);
      const uint32_t crc = Crc32c(file.data() + offset, file.size() - offset);
      auto* section = reinterpret_cast<flatbuffers::Table*>(
          const_cast<fb::Section*>(fb::GetPlan(file.data())->sections()->Get(i)));
      if (!section->SetField<uint64_t>(fb::Section::VT_FILE_OFFSET, offset, 0) ||
          !section->SetField<uint32_t>(fb::Section::VT_CRC32C, crc, 0)) {
        return InternalError("a section's offset and checksum have no place in the FlatBuffer");
      }
    }
    auto* header = const_cast<fb::FileHeader*>(fb::GetPlan(file.data())->header());
    *header = fb::FileHeader(static_cast<uint32_t>(header_bytes), 0);
    *header =
        fb::FileHeader(static_cast<uint32_t>(header_bytes), Crc32c(file.data(), header_bytes));
    return file;
  }

  const std::vector<ProgramToEmit>& programs_;
  const EmitOptions& options_;
  PlanTables tables_;
  flatbuffers::FlatBufferBuilder& builder_;
};

}  // namespace

Result<std::vector<uint8_t>> EmitPlan(const std::vector<ProgramToEmit>& programs,
                                      const EmitOptions& options) {
  return Emitter(programs, options).Run();
}

Result<int64_t> EmittedConstantBytes(const std::vector<ProgramToEmit>& programs) {
  PlanTables tables;
  for (const ProgramToEmit& program : programs) {
    TENON_RETURN_IF_ERROR(ProgramWriter(program, tables).Write().status());
  }
  return static_cast<int64_t>(tables.constants.size() + tables.code.size());
}

Result<std::vector<uint8_t>> EmitPlan(const Graph& graph, const Locations& locations,
                                      const ArenaPlan& arena, const Schedule& schedule,
                                      const EmitOptions& options) {
  ProgramToEmit program;
  program.graph = &graph;
  program.locations = &locations;
  program.arena = &arena;
  program.schedule = &schedule;
  program.worker_names = options.worker_names;
  return EmitPlan({program}, options);
}

Result<std::vector<uint8_t>> EmitPlan(const Graph& graph, const Locations& locations,
                                      const ArenaPlan& arena, const EmitOptions& options) {
  return EmitPlan(graph, locations, arena, Schedule(), options);
}

Result<std::vector<uint8_t>> LowerAndEmit(Graph& graph, const LowerOptions& options) {
  std::vector<PassReport> ignored;
  TENON_ASSIGN_OR_RETURN(const Lowered lowered, Lower(graph, options, ignored));
  ArenaOptions arena;
  arena.place.work_budget = 0;
  return EmitPlan(graph, lowered.locations, PlanArena(graph, lowered.locations, arena),
                  EmitOptions{});
}

}  // namespace tenon::converter
