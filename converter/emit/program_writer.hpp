// Writes one program into a plan that is being built.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "converter/emit/plan_tables.hpp"
#include "converter/ir/locations.hpp"
#include "converter/schedule/conditional_ops.hpp"
#include "converter/schedule/program_to_emit.hpp"
#include "plan_generated.h"

namespace tenon::converter {

// Finds the tensors that cross the boundaries of segments, which the plan lists
// (sdk/schema/plan.fbs, Segment).

struct EmittedSegment {
  std::vector<OpId> ops;  ///< in order of execution
  std::string backend;
  int32_t worker = 0;
  int32_t stage = 0;
  std::vector<TensorId> reads;   ///< filled in
  std::vector<TensorId> writes;  ///< filled in
};

/// Fills in `reads` and `writes` of segments of backends other than "cpu". Segments must be in the
/// plan's order, and the graph's order must be an order of execution. O(operands log operands),
/// except that parts of concatenations are compared with every reader.
void FindBoundaries(const Graph& graph, const Locations& locations,
                    std::vector<EmittedSegment>& segments);

/// A plan's sections: the constants of ops, then code.
inline constexpr uint16_t kConstantsSection = 0;
inline constexpr uint16_t kCodeSection = 1;

/// The tables and spaces that all programs of a plan share.
struct PlanTables {
  std::string memory_space;     ///< space of arenas for which none is given
  std::string constants_space;  ///< empty: memory_space
  flatbuffers::FlatBufferBuilder builder;
  uint32_t arena_alignment = static_cast<uint32_t>(kStorageAlignment);
  SectionBuilder constants;
  SectionBuilder code;  ///< of segments, with its constants; section kCodeSection of the plan
  NameTable spaces;
  NameTable kernels;
  NameTable backends;

  uint16_t SpaceIndex(const std::string& space) {
    return static_cast<uint16_t>(spaces.Index(space.empty() ? memory_space : space));
  }
};

/// Writes one program; each object is used for one call of Write.
class ProgramWriter {
 public:
  ProgramWriter(const ProgramToEmit& program, PlanTables& tables);

  /// Errors (kInternal): steps in no worker or in two; too many workers or segments.
  [[nodiscard]] Result<flatbuffers::Offset<tenon::plan::Program>> Write();

 private:
  template <typename T>
  using Offsets = std::vector<flatbuffers::Offset<T>>;
  using Ports = flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<tenon::plan::Port>>>;
  using Steps = Offsets<tenon::plan::Step>;
  using CodeOffset =
      flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<tenon::plan::SegmentCode>>>;

  [[nodiscard]] Status NumberWorkers();
  [[nodiscard]] const Graph::Port& PortOf(TensorId input) const;
  void NameSpaces();
  void NumberStorages();
  [[nodiscard]] uint16_t SegmentWith(TensorId root) const;
  uint32_t StorageOfRoot(TensorId root);
  [[nodiscard]] std::vector<TensorId> OperandsOf(OpId id) const;
  void NumberTensors();
  void AddTensor(TensorId id);
  int32_t AddScratch(const std::string& name, int64_t bytes, uint32_t storage);
  flatbuffers::Offset<tenon::plan::Tensor> WriteTensor(const std::string& name, DType dtype,
                                                       const Shape& shape,
                                                       const std::vector<int32_t>& strides,
                                                       uint32_t storage, uint64_t offset);
  [[nodiscard]] std::vector<int32_t> Indices(const std::vector<TensorId>& ids) const;
  flatbuffers::Offset<tenon::plan::Op> WriteOp(OpId id);
  [[nodiscard]] Status FindSegments();
  [[nodiscard]] int32_t StageOfWorker(int32_t worker) const;
  [[nodiscard]] std::vector<uint32_t> TensorIndices(const std::vector<TensorId>& ids) const;
  Offsets<tenon::plan::Segment> WriteSegments();
  CodeOffset WriteCode(const EmittedSegment& segment);
  [[nodiscard]] Result<Offsets<tenon::plan::Channel>> WriteChannels();
  Offsets<tenon::plan::Group> WriteGroups();
  flatbuffers::Offset<tenon::plan::Step> WriteStep(const ScheduledStep& step);
  Offsets<tenon::plan::Worker> WriteWorkers(const Steps& in_order);
  Offsets<tenon::plan::Arena> WriteArenas();
  Ports WritePorts(bool outputs);
  [[nodiscard]] bool IsOfState(bool output, const Graph::Port& port) const;
  std::vector<tenon::plan::State> States();

  const ProgramToEmit& program_;
  const Graph& graph_;
  const Locations& locations_;
  const ArenaPlan& arena_;
  const Schedule& schedule_;
  PlanTables& tables_;
  flatbuffers::FlatBufferBuilder& builder_;
  std::vector<PlannedArena> arenas_;
  std::vector<uint16_t> worker_of_op_;    ///< by index in the plan
  std::vector<EmittedSegment> segments_;  ///< segments in the order in which they are written
  std::vector<tenon::plan::Storage> storages_;
  std::vector<flatbuffers::Offset<tenon::plan::Tensor>> tensors_;
  std::unordered_map<OpId, uint32_t> index_of_op_;
  std::unordered_map<TensorId, uint32_t> storage_of_root_;
  std::unordered_map<OpId, uint32_t> workspace_storage_;
  std::unordered_map<OpId, int32_t> workspace_tensor_;
  std::unordered_map<OpId, uint32_t> fallback_storage_;
  std::unordered_map<OpId, int32_t> fallback_tensor_;
  std::unordered_map<OpId, RunCondition> conditions_;
  std::unordered_set<OpId> coded_;  ///< ops of segments with code
  std::unordered_map<TensorId, int32_t> index_of_tensor_;
};

}  // namespace tenon::converter
