// Parallel branches on the simulated wide device: op by op, fused, and the optimum of every block
// for which dynamic programming can prove it. Times in microseconds; one line per
// model. `blocks`: with an optimum that is proven / all of two ops and more; `worst`: time of the
// worst of these over its optimum; `apart`: fused, without merging ops that share an input. Usage:
// branches_bench
// [--work N] [--inexact] MODEL.onnx...
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>

#include "converter/driver/pipeline.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/fuse/branches_of_graph.hpp"
#include "converter/fuse/wide_ops.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/solve/fuse/exact_groups.hpp"
#include "converter/solve/fuse/fuse_branches.hpp"

namespace tenon::converter {
namespace {

double Seconds(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// By op the group that it starts with; ops that start alone have a number of their own.
std::vector<int32_t> GroupOfOp(size_t ops, const FusedBranches& fused) {
  std::vector<int32_t> group(ops);
  for (size_t op = 0; op < ops; ++op) group[op] = static_cast<int32_t>(op);
  for (const FusedGroup& entry : fused.groups) {
    for (const int32_t op : entry.ops) group[static_cast<size_t>(op)] = entry.ops[0];
  }
  return group;
}

/// The time of the groups that lie in this part. No group reaches over a key node.
double TimeOfPart(const GroupModel& model, const std::vector<int32_t>& group,
                  const std::vector<int32_t>& part) {
  std::map<int32_t, OpSet> sets;
  for (const int32_t op : part) sets[group[static_cast<size_t>(op)]].push_back(op);
  double seconds = 0;
  for (const auto& [number, ops] : sets) seconds += model.Time(ops);
  return seconds;
}

struct Optimum {
  size_t parts = 0;
  size_t proven = 0;
  double worst = 1;
};

Optimum CompareWithOptimum(const BranchGraph& graph, const GroupModel& model,
                           const std::vector<int32_t>& group, int64_t work) {
  Optimum optimum;
  for (const std::vector<int32_t>& part : FindBlocks(graph)) {
    if (part.size() < 2) continue;
    const ExactGroups exact = FindExactGroups(PartOf(graph, part), PartModel(model, part), work);
    ++optimum.parts;
    if (!exact.proven) continue;
    ++optimum.proven;
    optimum.worst = std::max(optimum.worst, TimeOfPart(model, group, part) / exact.seconds);
  }
  return optimum;
}

Result<double> Run(const std::string& path, int64_t work, const FuseOptions& options) {
  TENON_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(path, ImportOptions{}, FoldTensors));
  std::vector<PassReport> passes;
  TENON_RETURN_IF_ERROR(Canonicalise(graph, true, passes));
  const BranchesOfGraph branches =
      FindBranchesOfGraph(graph, [](const Op& op) { return !IsViewByKind(op); });
  const size_t ops = branches.graph.size();
  const WideDevice device;
  const std::vector<WideOp> wide = WideOpsOf(graph, branches.op_of_node);
  const WideModel model(device, wide);
  const WideModel apart_model(device, wide, false);
  const std::vector<bool> fusible(ops, true);
  const std::clock_t start = std::clock();
  const FusedBranches fused = FuseBranches(branches.graph, fusible, model, options);
  const double search = Seconds(start);
  const FusedBranches apart = FuseBranches(branches.graph, fusible, apart_model, options);
  const std::vector<int32_t> group = GroupOfOp(ops, fused);
  std::vector<int32_t> alone(ops);
  size_t starts = ops;
  for (size_t op = 0; op < ops; ++op) alone[op] = static_cast<int32_t>(op);
  for (const FusedGroup& entry : fused.groups) starts -= entry.ops.size() - 1;
  const double before = TimeOfGroups(model, alone);
  const double after = TimeOfGroups(model, group);
  const Optimum optimum = CompareWithOptimum(branches.graph, model, group, work);
  const std::filesystem::path file(path);
  const std::string name = file.stem().string().rfind("model", 0) == 0
                               ? file.parent_path().filename().string()
                               : file.stem().string();
  fmt::print(
      "{:<22} {:>5} {:>6} {:>9.1f} {:>9.1f} {:>9.1f} {:>7.3f} {:>4}/{:<4} {:>6.4f} {:>7.2f}\n",
      name, ops, starts, before * 1e6, TimeOfGroups(apart_model, GroupOfOp(ops, apart)) * 1e6,
      after * 1e6, before / after, optimum.proven, optimum.parts, optimum.worst, search);
  std::fflush(stdout);
  return before / after;
}

int Main(int argc, char** argv) {
  int64_t work = 20'000'000;
  fmt::print("{:<22} {:>5} {:>6} {:>9} {:>9} {:>9} {:>7} {:>9} {:>6} {:>7}\n", "model", "ops",
             "starts", "op by op", "apart", "fused", "faster", "blocks", "worst", "search");
  FuseOptions options;
  double logarithms = 0;
  int models = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--work" && i + 1 < argc) {
      work = std::atoll(argv[++i]);
      continue;
    }
    if (std::string(argv[i]) == "--inexact") {
      options.exact_work = 0;
      continue;
    }
    const Result<double> faster = Run(argv[i], work, options);
    if (!faster.ok()) {
      fmt::print("{}: {}\n", argv[i], faster.error().message);
      return 1;
    }
    logarithms += std::log(*faster);
    ++models;
  }
  if (models > 0) fmt::print("geometric mean {:.3f}\n", std::exp(logarithms / models));
  return 0;
}

}  // namespace
}  // namespace tenon::converter

int main(int argc, char** argv) { return tenon::converter::Main(argc, argv); }
