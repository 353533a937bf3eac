#include "converter/stage/fetch_constants.hpp"

#include <fmt/format.h>

#include <map>

#include "converter/map/backends.hpp"
#include "converter/schedule/program_problem.hpp"

namespace tenon::converter {
namespace {

class Fetcher {
 public:
  Fetcher(StagedGraph& staged, const std::vector<bool>& fetches, PassReport& report)
      : staged_(staged), graph_(staged.graph), fetches_(fetches), report_(report) {}

  Status Run() {
    std::map<TensorId, TensorId> before;  // copies that the op before has read
    for (const OpId id : graph_.OpOrder()) {
      const int32_t stage = StageOf(id);
      if (stage < 0 || !fetches_[static_cast<size_t>(stage)]) continue;
      if (stage != stage_before_) before.clear();
      stage_before_ = stage;
      std::map<TensorId, TensorId> read;
      for (size_t i = 0; i < graph_.op(id).inputs.size(); ++i) {
        const TensorId input = graph_.op(id).inputs[i];
        if (input == kNone || !graph_.tensor(input).IsConstant()) continue;
        if (graph_.tensor(input).ByteSize() == 0) continue;
        const auto known = before.find(input);
        TensorId copy = known == before.end() ? kNone : known->second;
        if (const auto again = read.find(input); again != read.end()) copy = again->second;
        if (copy == kNone) {
          TENON_ASSIGN_OR_RETURN(copy, Fetch(input, id, stage));
        }
        read[input] = copy;
        graph_.SetInput(id, i, copy);
      }
      before = std::move(read);
    }
    return {};
  }

 private:
  [[nodiscard]] int32_t StageOf(OpId id) const {
    const auto k = static_cast<size_t>(id);
    return k < staged_.stage_of_op.size() ? staged_.stage_of_op[k] : -1;
  }

  Result<TensorId> Fetch(TensorId constant, OpId reader, int32_t stage) {
    const std::string name =
        fmt::format("{}.for_{}", graph_.tensor(constant).name, graph_.op(reader).name);
    TENON_ASSIGN_OR_RETURN(const OpId copy, graph_.InsertOp(reader, OpKind::kCopy, name, {constant},
                                                            Attributes(), {name}));
    const TensorId made = graph_.op(copy).outputs[0];
    graph_.MutableTensor(made).layout = graph_.tensor(constant).layout;
    UsePortableKernel(graph_.MutableOp(copy));
    const auto k = static_cast<size_t>(copy);
    if (staged_.stage_of_op.size() <= k) staged_.stage_of_op.resize(k + 1, -1);
    staged_.stage_of_op[k] = stage;
    ++report_.changed;
    return made;
  }

  StagedGraph& staged_;
  Graph& graph_;
  const std::vector<bool>& fetches_;
  PassReport& report_;
  int32_t stage_before_ = -1;
};

}  // namespace

Status FetchConstants(StagedGraph& staged, const Board& board, const std::vector<bool>& fetches,
                      PassReport& report) {
  if (!MemoryOf(board).stage_constants) return {};
  return Fetcher(staged, fetches, report).Run();
}

bool IsFetch(const Graph& graph, const Op& op) {
  return op.kind == OpKind::kCopy && graph.tensor(op.inputs[0]).IsConstant();
}

Picoseconds FetchTime(const Graph& graph, const Op& op, const Board& board) {
  const Link& link = board.links[static_cast<size_t>(MemoryOf(board).fetch_link)];
  const OpTime time = TransferTime(board, link, graph.tensor(op.inputs[0]).ByteSize());
  return time.fixed + time.compute;
}

}  // namespace tenon::converter
