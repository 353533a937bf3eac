#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "converter/emit/program_writer.hpp"
#include "converter/layout/assign_locations.hpp"

namespace tenon::converter {
namespace {

class BoundaryFinder {
 public:
  BoundaryFinder(const Graph& graph, const Locations& locations,
                 std::vector<EmittedSegment>& segments)
      : graph_(graph), locations_(locations), segments_(segments), written_(segments.size()) {}

  void Run() {
    for (size_t s = 0; s < segments_.size(); ++s) {
      for (const OpId id : segments_[s].ops) segment_of_op_[id] = s;
    }
    for (const Graph::Port& port : graph_.inputs()) {
      writers_[port.tensor] = {{port.tensor, kCaller}};
    }
    for (const OpId id : graph_.OpOrder()) FindWriters(id);
    for (size_t s = 0; s < segments_.size(); ++s) {
      for (const OpId id : segments_[s].ops) {
        for (const TensorId input : graph_.op(id).inputs) {
          if (input != kNone) Read(input, s);
        }
      }
    }
    for (const Graph::Port& port : graph_.outputs()) Read(port.tensor, kCaller);
    for (size_t s = 0; s < segments_.size(); ++s) ListWrites(s);
  }

 private:
  static constexpr size_t kCaller = SIZE_MAX;
  struct Writer {
    TensorId tensor;
    size_t segment;
  };

  [[nodiscard]] bool IsDevice(size_t s) const {
    return s != kCaller && segments_[s].backend != "cpu";
  }
  [[nodiscard]] bool AreForeign(size_t a, size_t b) const {
    return a == kCaller || b == kCaller || segments_[a].worker != segments_[b].worker ||
           segments_[a].backend != segments_[b].backend;
  }
  [[nodiscard]] bool HasFallback(size_t s) const {
    return !graph_.op(segments_[s].ops.front()).fallback_kernel.empty();
  }

  /// Gives an elided op's output the writers of its inputs.
  void FindWriters(OpId id) {
    const Op& op = graph_.op(id);
    const auto segment = segment_of_op_.find(id);
    std::vector<Writer> all;
    for (const TensorId input : op.inputs) {
      const auto found = writers_.find(input);
      if (segment != segment_of_op_.end() || found == writers_.end()) continue;
      all.insert(all.end(), found->second.begin(), found->second.end());
    }
    for (const TensorId output : op.outputs) {
      writers_[output] =
          segment == segment_of_op_.end() ? all : std::vector<Writer>{{output, segment->second}};
    }
  }

  void Read(TensorId tensor, size_t reader) {
    const auto writers = writers_.find(tensor);
    if (writers == writers_.end()) return;  // a constant
    for (const Writer& writer : writers->second) {
      if (writer.segment == reader) continue;
      const bool foreign = AreForeign(writer.segment, reader);
      const bool wants_signal =
          IsDevice(writer.segment) && (foreign || HasFallback(writer.segment));
      const bool wants_upload = IsDevice(reader) && foreign;
      if (!wants_signal && !wants_upload) continue;
      if (writer.tensor != tensor && !MayOverlap(graph_, locations_, writer.tensor, tensor)) {
        continue;
      }
      if (wants_signal) written_[writer.segment].insert(writer.tensor);
      if (wants_upload) AddRead(writer.tensor, reader);
    }
  }

  /// Adds a read once per worker and backend, where the tensor then stays.
  void AddRead(TensorId tensor, size_t reader) {
    EmittedSegment& segment = segments_[reader];
    if (listed_.emplace(segment.worker, segment.backend, tensor).second) {
      segment.reads.push_back(tensor);
    }
  }

  /// Lists the tensors in the order in which they are written.
  void ListWrites(size_t s) {
    for (const OpId id : segments_[s].ops) {
      for (const TensorId output : graph_.op(id).outputs) {
        if (written_[s].contains(output)) segments_[s].writes.push_back(output);
      }
    }
  }

  const Graph& graph_;
  const Locations& locations_;
  std::vector<EmittedSegment>& segments_;
  std::map<OpId, size_t> segment_of_op_;
  std::map<TensorId, std::vector<Writer>> writers_;  ///< by tensor: whose bytes it has
  std::vector<std::set<TensorId>> written_;          ///< by segment
  std::set<std::tuple<int32_t, std::string, TensorId>> listed_;
};

}  // namespace

void FindBoundaries(const Graph& graph, const Locations& locations,
                    std::vector<EmittedSegment>& segments) {
  BoundaryFinder(graph, locations, segments).Run();
}

}  // namespace tenon::converter
