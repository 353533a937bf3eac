// The plan's schema as a table, so that one small loop verifies the whole file: the generated
// verifier is several times as large, and accepts absent elements in vectors.
//
// Must say the same as sdk/schema/plan.fbs; a test compares the two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/config.hpp"

namespace tenon::plan_schema {

enum class FieldKind : uint8_t {
  kScalar,  ///< `size` bytes, aligned to them
  kStruct,  ///< `size` bytes, aligned to 4
  kString,
  kScalarVector,  ///< elements of `size` words, aligned to 4
  kStringVector,
  kTableVector,  ///< of tables `size`, a TableId
};

/// One byte, since firmware carries one for each field of the schema.
class Field {
 public:
  constexpr Field() = default;
  constexpr Field(FieldKind kind, int size, bool required)
      : bits_(static_cast<uint8_t>(static_cast<int>(kind) << 5 | size << 1 | (required ? 1 : 0))) {}

  [[nodiscard]] constexpr FieldKind kind() const { return static_cast<FieldKind>(bits_ >> 5); }
  /// Bytes, words, or a TableId; below 16.
  [[nodiscard]] constexpr uint8_t size() const { return bits_ >> 1 & 15; }
  [[nodiscard]] constexpr bool required() const { return (bits_ & 1) != 0; }

 private:
  uint8_t bits_ = 0;
};

enum TableId : uint8_t {
  kPlan,
  kMemorySpace,
  kSection,
  kOption,
  kProgram,
  kArena,
  kTensor,
  kOp,
  kWorker,
  kStep,
  kSegment,
  kChannel,
  kStage,
  kPort,
  // The last ones are absent from firmware, which looks neither at segments nor at what starts
  // together.
  kSegmentCode,
  kGroup,
  kTableCount,
};

inline constexpr Field kU8 = {FieldKind::kScalar, 1, false};
inline constexpr Field kU16 = {FieldKind::kScalar, 2, false};
inline constexpr Field kU32 = {FieldKind::kScalar, 4, false};
inline constexpr Field kU64 = {FieldKind::kScalar, 8, false};
inline constexpr Field kText = {FieldKind::kString, 0, false};
inline constexpr Field kName = {FieldKind::kString, 0, true};
inline constexpr Field kWords = {FieldKind::kScalarVector, 1, true};
inline constexpr Field kNames = {FieldKind::kStringVector, 0, true};
constexpr Field TablesOf(TableId id) { return {FieldKind::kTableVector, id, true}; }
constexpr Field Optional(Field field) { return {field.kind(), field.size(), false}; }

/// Of a storage and of a relocation and a state, which are read where they stand.
inline constexpr int kStorageWords = 6;
inline constexpr int kRelocationWords = 6;
inline constexpr int kStateWords = 3;

// In the order of the schema.
inline constexpr Field kPlanFields[] = {{FieldKind::kStruct, 8, true},
                                        kU16,
                                        kU16,
                                        kText,
                                        kName,
                                        kU64,
                                        Optional(TablesOf(kOption)),
                                        TablesOf(kMemorySpace),
                                        TablesOf(kSection),
                                        kNames,
                                        kNames,
                                        TablesOf(kProgram)};
inline constexpr Field kMemorySpaceFields[] = {kName};
inline constexpr Field kSectionFields[] = {kName, kU16, kU64, kU64, kU32, kU32};
inline constexpr Field kOptionFields[] = {kName, kName};
inline constexpr Field kProgramFields[] = {kName,
                                           kU8,
                                           TablesOf(kArena),
                                           {FieldKind::kScalarVector, kStorageWords, true},
                                           TablesOf(kTensor),
                                           TablesOf(kOp),
                                           TablesOf(kWorker),
                                           TablesOf(kSegment),
                                           Optional(TablesOf(kChannel)),
                                           TablesOf(kStage),
                                           TablesOf(kPort),
                                           TablesOf(kPort),
                                           {FieldKind::kScalarVector, kStateWords, false}};
inline constexpr Field kProgramGroupsField[] = {Optional(TablesOf(kGroup))};
inline constexpr Field kGroupFields[] = {kWords, kText, kU32, Optional(kWords)};
inline constexpr Field kArenaFields[] = {kU16, kU64, kU32, kU64, kU16, kU8};
inline constexpr Field kTensorFields[] = {kText, kU8, kU8, kU32, kU64, kWords, kWords};
inline constexpr Field kOpFields[] = {kText, kU16, kU16, kWords, kWords, Optional(kWords),
                                      kU32,  kU32, kU32, kU32,   kU32,   kU8};
inline constexpr Field kWorkerFields[] = {TablesOf(kStep), kText};
inline constexpr Field kStepFields[] = {kU32, {FieldKind::kScalarVector, 2, false}};
inline constexpr Field kSegmentFields[] = {kU16, kWords, kU16, Optional(kWords), Optional(kWords)};
inline constexpr Field kSegmentCodeField[] = {Optional(TablesOf(kSegmentCode))};
inline constexpr Field kSegmentCodeFields[] = {kU16,
                                               kU64,
                                               kU64,
                                               kName,
                                               kU32,
                                               kWords,
                                               Optional(kWords),
                                               {FieldKind::kScalarVector, kRelocationWords, true}};
inline constexpr Field kChannelFields[] = {kU16, kU16, kWords, kU16, kU16};
inline constexpr Field kStageFields[] = {kU16};
inline constexpr Field kPortFields[] = {kName, kU32, kU32, kU32};

static_assert(sizeof(Field) == 1, "fields are counted in bytes");
inline constexpr size_t kFieldCount =
    sizeof kPlanFields + sizeof kMemorySpaceFields + sizeof kSectionFields + sizeof kOptionFields +
    sizeof kProgramFields + sizeof kArenaFields + sizeof kTensorFields + sizeof kOpFields +
    sizeof kWorkerFields + sizeof kStepFields + sizeof kSegmentFields + sizeof kChannelFields +
    sizeof kStageFields + sizeof kPortFields +
    (kHasDevices ? sizeof kSegmentCodeField + sizeof kSegmentCodeFields +
                       sizeof kProgramGroupsField + sizeof kGroupFields
                 : 0);
inline constexpr size_t kKnownTables = kTableCount - (kHasDevices ? 0 : 2);

/// All fields in a row, those of table `id` at [begin[id], begin[id + 1]).
struct Schema {
  Field fields[kFieldCount];
  uint8_t begin[kKnownTables + 1];

  template <size_t N>
  constexpr void Add(TableId id, const Field (&more)[N]) {
    begin[id + 1] = begin[id];
    AddTo(id, more);
  }
  /// More fields of the table that was added last.
  template <size_t N>
  constexpr void AddTo(TableId id, const Field (&more)[N]) {
    for (size_t i = 0; i < N; ++i) fields[begin[id + 1] + i] = more[i];
    begin[id + 1] = static_cast<uint8_t>(begin[id + 1] + N);
  }
};

constexpr Schema MakeSchema() {
  Schema schema{};
  schema.Add(kPlan, kPlanFields);
  schema.Add(kMemorySpace, kMemorySpaceFields);
  schema.Add(kSection, kSectionFields);
  schema.Add(kOption, kOptionFields);
  schema.Add(kProgram, kProgramFields);
  if constexpr (kHasDevices) schema.AddTo(kProgram, kProgramGroupsField);
  schema.Add(kArena, kArenaFields);
  schema.Add(kTensor, kTensorFields);
  schema.Add(kOp, kOpFields);
  schema.Add(kWorker, kWorkerFields);
  schema.Add(kStep, kStepFields);
  schema.Add(kSegment, kSegmentFields);
  if constexpr (kHasDevices) schema.AddTo(kSegment, kSegmentCodeField);
  schema.Add(kChannel, kChannelFields);
  schema.Add(kStage, kStageFields);
  schema.Add(kPort, kPortFields);
  if constexpr (kHasDevices) {
    schema.Add(kSegmentCode, kSegmentCodeFields);
    schema.Add(kGroup, kGroupFields);
  }
  return schema;
}
inline constexpr Schema kSchema = MakeSchema();

/// For the test; what does not read them does not link them.
inline constexpr const char* kTableNames[kTableCount] = {
    "Plan",   "MemorySpace", "Section", "Option",  "Program", "Arena", "Tensor",      "Op",
    "Worker", "Step",        "Segment", "Channel", "Stage",   "Port",  "SegmentCode", "Group",
};

}  // namespace tenon::plan_schema
