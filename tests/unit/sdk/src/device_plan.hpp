// Plans of several backends for tests: ops dealt out to backends, a worker per backend, segments
// and waits as a converter would write them; every tensor has bytes of its own.
#pragma once

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"

namespace tenon::test {

/// A unary op of one input (the function's number) or an addition of two.
struct DeviceOp {
  std::vector<uint32_t> inputs;  ///< values: those of inputs of the graph first, then one per op
  size_t backend = 0;
  UnaryFunction function = UnaryFunction::kNeg;
};

struct DeviceGraph {
  std::vector<std::string> backends = {"cpu", "scripted"};
  size_t inputs = 1;
  std::vector<DeviceOp> ops;
  std::vector<uint32_t> outputs;  ///< values; each of an op, each once
  int32_t elements = 16;
  bool fallback = false;
};

/// Builds the plan of a graph.
class DevicePlan {
 public:
  explicit DevicePlan(const DeviceGraph& graph) : graph_(graph) {
    spec_.backends = graph.backends;
    spec_.kernels.clear();
    spec_.segments.clear();
    for (const std::string& backend : graph.backends) {
      spec_.kernels.push_back(backend + ".unary.portable");
      spec_.kernels.push_back(backend + ".binary.portable");
    }
    const size_t values = graph.inputs + graph.ops.size();
    for (size_t value = 0; value < values; ++value) {
      spec_.AddBuffer(value * Stride(), graph.elements);
    }
    spec_.arenas[0].bytes = values * Stride();
    for (uint32_t i = 0; i < graph.inputs; ++i) {
      spec_.inputs.push_back({Numbered("in", i), i});
    }
    for (uint32_t i = 0; i < graph.outputs.size(); ++i) {
      spec_.outputs.push_back({Numbered("out", i), graph.outputs[i]});
    }
    spec_.workers.assign(graph.backends.size(), {});
    known_.assign(graph.backends.size(), std::vector<size_t>(graph.backends.size(), 0));
    for (size_t i = 0; i < graph.ops.size(); ++i) Add(graph.ops[i]);
    ListExchange();
  }

  [[nodiscard]] const PlanSpec& spec() const { return spec_; }
  [[nodiscard]] std::vector<uint8_t> Write() const { return spec_.Write(); }

 private:
  [[nodiscard]] uint64_t Stride() const {
    return (static_cast<uint64_t>(graph_.elements) * 4 + 63) / 64 * 64;
  }
  [[nodiscard]] bool IsInput(uint32_t value) const { return value < graph_.inputs; }
  [[nodiscard]] const DeviceOp& WriterOf(uint32_t value) const {
    return graph_.ops[value - graph_.inputs];
  }

  void Add(const DeviceOp& op) {
    std::vector<WaitInfo> waits;
    for (const uint32_t value : op.inputs) {
      if (IsInput(value) || WriterOf(value).backend == op.backend) continue;
      const size_t other = WriterOf(value).backend;
      const uint32_t step = step_of_[value - graph_.inputs];
      if (step < known_[op.backend][other]) continue;
      known_[op.backend][other] = step + 1;
      waits.push_back({static_cast<uint16_t>(other), step});
    }
    const bool continues = waits.empty() && last_segment_.count(op.backend) > 0;
    if (!continues) {
      last_segment_[op.backend] = spec_.segments.size();
      spec_.segments.push_back({{}, static_cast<uint16_t>(op.backend), 0});
    }
    const auto index = static_cast<uint32_t>(spec_.ops.size());
    step_of_.push_back(static_cast<uint32_t>(spec_.workers[op.backend].size()));
    spec_.AddOp(op.inputs, {static_cast<uint32_t>(graph_.inputs) + index}, op.backend, waits,
                last_segment_[op.backend]);
    segment_of_.push_back(last_segment_[op.backend]);
    SetKernel(spec_.ops.back(), op);
  }

  void SetKernel(OpSpec& spec, const DeviceOp& op) const {
    const bool is_binary = op.inputs.size() == 2;
    spec.kind = static_cast<uint16_t>(is_binary ? OpKind::kBinary : OpKind::kUnary);
    spec.kernel = static_cast<uint16_t>(2 * op.backend + (is_binary ? 1 : 0));
    spec.attributes.assign((is_binary ? sizeof(BinaryAttributes) : sizeof(UnaryAttributes)) / 4, 0);
    if (!is_binary) spec.attributes[0] = static_cast<int32_t>(op.function);
    if (graph_.fallback && op.backend != 0) spec.fallback_kernel = is_binary ? 1 : 0;
  }

  /// What the device's segments read and write for others.
  void ListExchange() {
    std::vector<std::set<uint32_t>> uploaded(graph_.backends.size());
    for (size_t s = 0; s < spec_.segments.size(); ++s) {
      SegmentSpec& segment = spec_.segments[s];
      if (segment.backend == 0) continue;
      for (const uint32_t op : segment.ops) {
        for (const uint32_t value : graph_.ops[op].inputs) {
          const bool is_own = !IsInput(value) && WriterOf(value).backend == segment.backend;
          if (is_own || !uploaded[segment.backend].insert(value).second) continue;
          segment.reads.push_back(value);
        }
        const auto value = static_cast<uint32_t>(graph_.inputs) + op;
        if (IsReadOutside(value, s)) segment.writes.push_back(value);
      }
    }
  }

  [[nodiscard]] bool IsReadOutside(uint32_t value, size_t segment) const {
    for (const uint32_t output : graph_.outputs) {
      if (output == value) return true;
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const bool is_foreign = graph_.ops[i].backend != spec_.segments[segment].backend ||
                              (graph_.fallback && segment_of_[i] != segment);
      if (!is_foreign) continue;
      for (const uint32_t input : graph_.ops[i].inputs) {
        if (input == value) return true;
      }
    }
    return false;
  }

  DeviceGraph graph_;
  PlanSpec spec_;
  std::vector<uint32_t> step_of_;
  std::vector<size_t> segment_of_;
  std::map<size_t, size_t> last_segment_;
  std::vector<std::vector<size_t>> known_;  ///< [worker][other]: steps of it that are waited for
};

/// in -> cpu -> device -> device -> cpu -> out
inline DeviceGraph Relay(bool fallback = false) {
  DeviceGraph graph;
  graph.ops = {{{0}, 0, UnaryFunction::kNeg},
               {{1}, 1, UnaryFunction::kExp},
               {{2}, 1, UnaryFunction::kNeg},
               {{3}, 0, UnaryFunction::kTanh}};
  graph.outputs = {4};
  graph.fallback = fallback;
  return graph;
}

/// in -> device -> out, and nothing else.
inline DeviceGraph DeviceOnly(bool fallback = false) {
  DeviceGraph graph;
  graph.ops = {{{0}, 1, UnaryFunction::kExp}};
  graph.outputs = {1};
  graph.fallback = fallback;
  return graph;
}

/// Two segments of the device with one of the CPU between them, around which a value passes.
inline DeviceGraph Detour(bool fallback = false) {
  DeviceGraph graph;
  graph.ops = {{{0}, 1, UnaryFunction::kExp},
               {{1}, 1, UnaryFunction::kNeg},
               {{1}, 0, UnaryFunction::kTanh},
               {{2, 3}, 1},
               {{4}, 1, UnaryFunction::kNeg}};
  graph.outputs = {5};
  graph.fallback = fallback;
  return graph;
}

}  // namespace tenon::test
