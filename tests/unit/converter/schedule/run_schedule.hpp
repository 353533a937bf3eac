// Runs a scheduled program step by step on plain arrays, with the portable kernels: in any order
// that the workers' lists and waits allow, so that a missing wait shows as a wrong value.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "converter/schedule/make_schedule.hpp"

namespace tenon::converter {

/// A graph with its program.
struct Scheduled {
  Graph graph;
  Locations locations;
  ScheduledProgram program;
};

class ScheduleRunner {
 public:
  ScheduleRunner(const Graph& graph, const Locations& locations, const ScheduledProgram& program)
      : graph_(graph), locations_(locations), program_(program) {
    for (const PlannedStorage& storage : program.arena.storages) {
      if (storage.root != kNone) storage_of_root_[storage.root] = &storage;
    }
  }

  /// Every segment of other backends than the CPU is executed twice, as where a device has failed
  /// at its end and the CPU stands in.
  void RepeatSegments() { repeats_segments_ = true; }

  /// Outputs as row-major bytes. `error` says why not.
  std::vector<std::vector<std::byte>> Run(const std::vector<std::vector<std::byte>>& inputs,
                                          uint64_t seed, std::string& error) {
    arenas_.clear();
    const std::vector<PlannedArena>& planned = program_.arena.arenas;
    for (const PlannedArena& arena : planned) AddArena(arena.bytes);
    if (planned.empty()) AddArena(program_.arena.bytes);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].empty()) continue;
      std::memcpy(Data(graph_.inputs()[i].tensor, error), inputs[i].data(), inputs[i].size());
    }
    RunSteps(seed, error);
    std::vector<std::vector<std::byte>> outputs;
    for (const Graph::Port& port : graph_.outputs()) {
      const auto* data = static_cast<const std::byte*>(Data(port.tensor, error));
      outputs.emplace_back(data, data + graph_.tensor(port.tensor).ByteSize());
    }
    return outputs;
  }

 private:
  void AddArena(int64_t bytes) {
    // Whatever is read before it is written is not a number.
    arenas_.emplace_back(static_cast<size_t>(bytes) / sizeof(std::max_align_t) + 1);
    std::memset(arenas_.back().data(), 0xFF, arenas_.back().size() * sizeof(std::max_align_t));
  }

  void RunSteps(uint64_t seed, std::string& error) {
    const auto& workers = program_.schedule.workers;
    if (workers.empty()) {
      for (const OpId id : program_.arena.steps) Execute(graph_.op(id), error);
      return;
    }
    std::mt19937_64 random(seed);
    std::vector<size_t> done(workers.size(), 0);
    for (size_t left = program_.arena.steps.size(); left > 0; --left) {
      std::vector<size_t> able;
      for (size_t w = 0; w < workers.size(); ++w) {
        if (done[w] == workers[w].size()) continue;
        bool waits = false;
        for (const ScheduledWait& wait : workers[w][done[w]].waits) {
          waits |= done[static_cast<size_t>(wait.worker)] <= static_cast<size_t>(wait.step);
        }
        if (!waits) able.push_back(w);
      }
      if (able.empty()) {
        error = "the workers wait for each other";
        return;
      }
      // One worker runs ahead for a while: extremes find more than fair turns.
      size_t w = able[random() % able.size()];
      if (seed % 2 == 0) w = seed % 4 == 0 ? able.front() : able.back();
      const OpId op = workers[w][done[w]++].op;
      Execute(graph_.op(op), error);
      if (repeats_segments_) Repeat(op, error);
    }
  }

  void Repeat(OpId last, std::string& error) {
    for (const std::vector<OpId>& segment : program_.schedule.segments) {
      if (segment.back() != last || graph_.op(last).backend == "cpu") continue;
      for (const OpId op : segment) Execute(graph_.op(op), error);
    }
  }

  void* Data(TensorId id, std::string& error) {
    static std::byte empty[16];
    const Location& location = locations_.at(id);
    if (graph_.tensor(id).ByteSize() == 0) return empty;
    if (graph_.tensor(location.root).IsConstant()) {
      return const_cast<std::byte*>(graph_.tensor(location.root).constant->data()) +
             location.offset;
    }
    const auto found = storage_of_root_.find(location.root);
    if (found == storage_of_root_.end()) {
      error = graph_.tensor(id).name + " has no storage";
      return empty;
    }
    const PlannedStorage& storage = *found->second;
    if (location.offset + BytesSpanned(id) > storage.bytes ||
        storage.offset + storage.bytes >
            static_cast<int64_t>(arenas_[static_cast<size_t>(storage.arena)].size() *
                                 sizeof(std::max_align_t))) {
      error = graph_.tensor(id).name + " lies outside its storage or arena";
      return empty;
    }
    return reinterpret_cast<std::byte*>(arenas_[static_cast<size_t>(storage.arena)].data()) +
           storage.offset + location.offset;
  }

  /// From a tensor's first byte to behind its last.
  [[nodiscard]] int64_t BytesSpanned(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    int64_t last = 0;
    for (int32_t axis = 0; axis < tensor.shape.rank; ++axis) {
      last += static_cast<int64_t>(tensor.shape[axis] - 1) *
              locations_.at(id).strides[static_cast<size_t>(axis)];
    }
    return (last + 1) * DTypeBytes(tensor.dtype);
  }

  void Execute(const Op& op, std::string& error) {
    std::vector<TensorId> ids = op.inputs;
    ids.insert(ids.end(), op.outputs.begin(), op.outputs.end());
    std::vector<TensorView> views(ids.size());
    std::vector<int32_t> in;
    std::vector<int32_t> out;
    for (size_t i = 0; i < ids.size(); ++i) {
      (i < op.inputs.size() ? in : out).push_back(ids[i] == kNone ? -1 : static_cast<int32_t>(i));
      if (ids[i] == kNone) continue;
      const Tensor& tensor = graph_.tensor(ids[i]);
      views[i] = {Data(ids[i], error), tensor.shape.dims, locations_.at(ids[i]).strides.data(),
                  tensor.dtype, static_cast<uint8_t>(tensor.shape.rank)};
    }
    if (!error.empty()) return;
    const OpCall call{views.data(),
                      {in.data(), in.size()},
                      {out.data(), out.size()},
                      op.attributes.words().data()};
    for (const KernelEntry& kernel : cpu::CpuPortableBackend().kernels) {
      if (kernel.row->kind != op.kind) continue;
      tenon::Status status = kernel.check({call, 0, 1});
      if (status.ok()) status = kernel.run({call, nullptr, 0, nullptr, nullptr});
      if (!status.ok()) error = op.name + ": " + ToString(status);
      return;
    }
    error = op.name + ": no portable kernel";
  }

  const Graph& graph_;
  const Locations& locations_;
  const ScheduledProgram& program_;
  bool repeats_segments_ = false;
  std::map<TensorId, const PlannedStorage*> storage_of_root_;
  std::vector<std::vector<std::max_align_t>> arenas_;
};

}  // namespace tenon::converter
