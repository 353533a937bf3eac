// The plan's schema as a table, so that one small loop verifies the whole file: the generated
// verifier is several times as large, and accepts absent elements in vectors.
//
// Must say the same as sdk/schema/plan.fbs; a test compares the two.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::plan_schema {

enum class FieldKind : uint8_t {
  kScalar,  ///< `size` bytes, aligned to them
  kStruct,  ///< `size` bytes, aligned to 4
  kString,
  kScalarVector,  ///< elements of `size` bytes, aligned to 4
  kStringVector,
  kTableVector,  ///< of tables `size`, a TableId
};

struct Field {
  FieldKind kind;
  uint8_t size;
  bool required;
};

enum TableId : uint8_t {
  kPlan,
  kMemorySpace,
  kSection,
  kOption,
  kProgram,
  kArena,
  kStorage,
  kTensor,
  kOp,
  kWorker,
  kStep,
  kSegment,
  kChannel,
  kStage,
  kPort,
  kTableCount,
};

struct Table {
  const Field* fields;
  uint8_t field_count;
};

inline constexpr Field kU8 = {FieldKind::kScalar, 1, false};
inline constexpr Field kU16 = {FieldKind::kScalar, 2, false};
inline constexpr Field kU32 = {FieldKind::kScalar, 4, false};
inline constexpr Field kU64 = {FieldKind::kScalar, 8, false};
inline constexpr Field kText = {FieldKind::kString, 0, false};
inline constexpr Field kName = {FieldKind::kString, 0, true};
inline constexpr Field kWords = {FieldKind::kScalarVector, 4, true};
inline constexpr Field kNames = {FieldKind::kStringVector, 0, true};
constexpr Field TablesOf(TableId id) { return {FieldKind::kTableVector, id, true}; }
constexpr Field Optional(Field field) { return {field.kind, field.size, false}; }

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
                                           TablesOf(kStorage),
                                           TablesOf(kTensor),
                                           TablesOf(kOp),
                                           TablesOf(kWorker),
                                           TablesOf(kSegment),
                                           Optional(TablesOf(kChannel)),
                                           TablesOf(kStage),
                                           TablesOf(kPort),
                                           TablesOf(kPort)};
inline constexpr Field kArenaFields[] = {kU16, kU64, kU32, kU64, kU16};
inline constexpr Field kStorageFields[] = {kU8, kU16, kU64, kU64};
inline constexpr Field kTensorFields[] = {kText, kU8, kU8, kU32, kU64, kWords, kWords};
inline constexpr Field kOpFields[] = {kText, kU16, kU16, kWords, kWords, Optional(kWords),
                                      kU32,  kU32, kU32, kU32};
inline constexpr Field kWorkerFields[] = {TablesOf(kStep), kText};
inline constexpr Field kStepFields[] = {kU32, {FieldKind::kScalarVector, 8, false}};
inline constexpr Field kSegmentFields[] = {kU16, kWords, kU16, Optional(kWords), Optional(kWords)};
inline constexpr Field kChannelFields[] = {kU16, kU16, kWords, kU16, kU16};
inline constexpr Field kStageFields[] = {kU16};
inline constexpr Field kPortFields[] = {kName, kU32, kU32, kU32};

template <size_t N>
constexpr Table Describe(const Field (&fields)[N]) {
  return {fields, static_cast<uint8_t>(N)};
}

inline constexpr Table kTables[kTableCount] = {
    Describe(kPlanFields),    Describe(kMemorySpaceFields), Describe(kSectionFields),
    Describe(kOptionFields),  Describe(kProgramFields),     Describe(kArenaFields),
    Describe(kStorageFields), Describe(kTensorFields),      Describe(kOpFields),
    Describe(kWorkerFields),  Describe(kStepFields),        Describe(kSegmentFields),
    Describe(kChannelFields), Describe(kStageFields),       Describe(kPortFields),
};

/// For the test; what does not read them does not link them.
inline constexpr const char* kTableNames[kTableCount] = {
    "Plan", "MemorySpace", "Section", "Option",  "Program", "Arena", "Storage", "Tensor",
    "Op",   "Worker",      "Step",    "Segment", "Channel", "Stage", "Port",
};

}  // namespace tenon::plan_schema
