// tenon profile --self-test: the bring-up test of a board.
#include "converter/measure/self_test.hpp"

#include <algorithm>

#include "converter/api/outcome.hpp"
#include "converter/api/preferred_backend.hpp"
#include "converter/driver/pipeline.hpp"
#include "converter/measure/this_machine.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tenon/profiler.hpp"

namespace tenon::converter {
namespace {

constexpr char kCpu[] = "cpu";

struct SelfTestRun {
  const Board& board;
  const SelfTestRequest& request;
  const std::vector<SingleOp>& ops;
};

/// The op's plan with `backend` preferred for everything.
Result<Conversion> ConvertFor(const Board& board, const std::string& backend, const SingleOp& op) {
  ConvertOptions convert;
  convert.board = Preferring(board, backend);
  convert.compile.order.mode = OrderMode::kSource;
  return ConvertGraph(Graph(op.graph), convert);
}

/// Why the backend does not run the op, as the mapping says it.
std::string ReasonElsewhere(const Conversion& conversion, const std::string& backend) {
  for (const MappedOp& op : conversion.mapping) {
    for (const auto& candidate : op.candidates) {
      if (candidate.backend == backend && !candidate.reason.empty()) return candidate.reason;
    }
  }
  return fmt::format("no kernel of '{}'", backend);
}

void Note(TestedOps& kind, const SingleOp& op, const std::string& reason) {
  if (kind.reason.empty()) kind.reason = fmt::format("{}: {}", op.name, reason);
}

void TestOp(const SelfTestRun& run, const SingleOp& op, TestedBackend& tested, TestedOps& kind) {
  const std::string& backend = tested.backend;
  const Result<Conversion> plan = ConvertFor(run.board, backend, op);
  const Result<Conversion> reference = ConvertFor(run.board, kCpu, op);
  if (!plan.ok() || !reference.ok()) {
    ++kind.failed;
    Note(kind, op, (plan.ok() ? reference : plan).error().message);
    return;
  }
  const auto on_backend = plan->ops_by_backend.find(backend);
  if (on_backend == plan->ops_by_backend.end() || on_backend->second == 0) {
    ++kind.elsewhere;
    Note(kind, op, ReasonElsewhere(*plan, backend));
    return;
  }
  const Result<OpComparison> compared =
      CompareRuns(plan->plan, reference->plan, backend, &tested.counters);
  if (!compared.ok()) {
    ++kind.failed;
    Note(kind, op, compared.error().message);
    return;
  }
  kind.worst_error = std::max(kind.worst_error, compared->worst_error);
  if (compared->is_equal) {
    ++kind.right;
    return;
  }
  ++kind.wrong;
  Note(kind, op,
       compared->worst_integer > 0
           ? fmt::format("differs by up to {}", compared->worst_integer)
           : fmt::format("differs by {:.2g} of the largest", compared->worst_error));
}

TestedBackend TestBackend(const SelfTestRun& run, const std::string& backend) {
  TestedBackend tested;
  tested.backend = backend;
  const auto count = static_cast<int>(run.ops.size()) + 1;
  const auto tell = [&](const std::string& test, int index) {
    if (run.request.progress) run.request.progress(backend, test, index, count);
  };
  tell("memory", 0);
  const Result<MemoryWalk> walk = WalkMemory(backend, run.request.memory_bytes);
  if (!walk.ok()) {
    tested.failure = walk.error().message;
    return tested;
  }
  tested.memory_bytes = walk->bytes;
  tested.wrong_bytes = walk->wrong_bytes;
  tested.first_wrong = walk->first_wrong;
  tested.write_bytes_per_s = walk->write_bytes_per_s;
  tested.read_bytes_per_s = walk->read_bytes_per_s;
  for (size_t i = 0; i < run.ops.size(); ++i) {
    const SingleOp& op = run.ops[i];
    tell(op.name, static_cast<int>(i) + 1);
    const char* const kind = OpName(op.kind);
    if (tested.ops.empty() || tested.ops.back().kind != kind) {
      tested.ops.push_back(TestedOps{kind, 0, 0, 0, 0, 0, {}});
    }
    TestOp(run, op, tested, tested.ops.back());
  }
  return tested;
}

Result<std::vector<TestedBackend>> TestBoard(const SelfTestRequest& request) {
  TENON_ASSIGN_OR_RETURN(const Board board, LoadBoard(request.board));
  TENON_RETURN_IF_ERROR(CheckIsThisMachine(board));
  const std::vector<std::string> known = BackendsToMeasure(board);
  std::vector<std::string> backends = request.backends.empty() ? known : request.backends;
  for (const std::string& backend : backends) {
    if (std::find(known.begin(), known.end(), backend) == known.end()) {
      return UsageError("board '{}' has no backend '{}' that this build knows", board.name,
                        backend);
    }
  }
  const std::vector<SingleOp> ops = SelfTestOps(request.ops_of_each_kind);
  const SelfTestRun run{board, request, ops};
  std::vector<TestedBackend> tested;
  tested.reserve(backends.size());
  for (const std::string& backend : backends) tested.push_back(TestBackend(run, backend));
  return tested;
}

}  // namespace
}  // namespace tenon::converter

namespace tenon {
inline namespace api_v1 {

Outcome<std::vector<TestedBackend>> SelfTest(const SelfTestRequest& request) {
  return converter::ToOutcome<std::vector<TestedBackend>>(
      [&] { return converter::TestBoard(request); });
}

}  // namespace api_v1
}  // namespace tenon
