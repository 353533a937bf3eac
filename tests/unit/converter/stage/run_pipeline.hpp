// Runs a pipeline on plain arrays with the portable kernels, input after input, its stages in any
// interleaving that the channels allow, and the workers of a stage in any that their waits allow,
// so that a byte that two share, a ring that is too short or a missing channel or wait shows as a
// wrong value.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "converter/stage/build_pipeline.hpp"

namespace tenon::converter {

using Arrays = std::vector<std::vector<std::byte>>;

class PipelineRunner {
 public:
  explicit PipelineRunner(const PipelineProgram& program)
      : program_(program), graph_(program.staged.graph), plan_(program.arenas.plan) {
    for (const PlannedStorage& storage : plan_.storages) {
      if (storage.root != kNone) storage_of_root_[storage.root] = &storage;
    }
    for (const PlannedArena& arena : plan_.arenas) {
      // Whatever is read before it is written is not a number.
      memory_.emplace_back(static_cast<size_t>(SlotBytes(arena) * arena.slots) + 64,
                           std::byte{0xFF});
    }
  }

  /// Outputs by input of the stream. `error` says why not.
  std::vector<Arrays> Run(const std::vector<Arrays>& stream, uint64_t seed, std::string& error) {
    std::mt19937_64 random(seed);
    random_.seed(seed);
    const size_t stages = program_.report.stages.size();
    std::vector<size_t> done(stages, 0);
    std::vector<Arrays> outputs(stream.size(), Arrays(graph_.outputs().size()));
    for (size_t left = stages * stream.size(); left > 0 && error.empty(); --left) {
      std::vector<size_t> ready;
      for (size_t s = 0; s < stages; ++s) {
        if (done[s] < stream.size() && MayStart(s, done)) ready.push_back(s);
      }
      if (ready.empty()) {
        error = "the stages wait for each other";
        break;
      }
      // The first that can runs ahead as far as it may, or the last, or any.
      size_t s = ready[random() % ready.size()];
      if (seed % 3 == 1) s = ready.front();
      if (seed % 3 == 2) s = ready.back();
      RunStage(s, done[s], stream[done[s]], outputs[done[s]], error);
      ++done[s];
    }
    return outputs;
  }

 private:
  static int64_t SlotBytes(const PlannedArena& arena) { return PaddedBytes(arena.bytes); }

  [[nodiscard]] int32_t Depth(const PlannedChannel& channel) const {
    return plan_.arenas[static_cast<size_t>(channel.arena)].slots;
  }

  /// As the plan's schema says.
  [[nodiscard]] bool MayStart(size_t stage, const std::vector<size_t>& done) const {
    const auto at = static_cast<int32_t>(stage);
    for (const PlannedChannel& channel : program_.arenas.channels) {
      const size_t written = done[static_cast<size_t>(channel.from)];
      if (channel.from < at && at <= channel.to && written <= done[stage]) return false;
      if (channel.from != at) continue;
      for (int32_t reader = channel.from + 1; reader <= channel.to; ++reader) {
        if (done[static_cast<size_t>(reader)] + static_cast<size_t>(Depth(channel)) <=
            done[stage]) {
          return false;
        }
      }
    }
    return true;
  }

  void RunStage(size_t stage, size_t number, const Arrays& inputs, Arrays& outputs,
                std::string& error) {
    // Inputs are written when the stage that has them begins.
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorId id = graph_.inputs()[i].tensor;
      if (!inputs[i].empty() && StageOf(id) == stage) {
        std::memcpy(Data(id, number, error), inputs[i].data(), inputs[i].size());
      }
    }
    RunWorkers(stage, number, error);
    if (!error.empty()) return;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const TensorId id = graph_.outputs()[i].tensor;
      if (StageOf(id) != stage) continue;
      const auto* data = static_cast<const std::byte*>(Data(id, number, error));
      outputs[i].assign(data, data + graph_.tensor(id).ByteSize());
    }
  }

  void RunWorkers(size_t stage, size_t number, std::string& error) {
    const Schedule& schedule = program_.schedule;
    std::vector<size_t> done(schedule.workers.size(), 0);
    const auto is_ready = [&](size_t worker) {
      if (schedule.stage_of_worker[worker] != static_cast<int32_t>(stage)) return false;
      if (done[worker] == schedule.workers[worker].size()) return false;
      for (const ScheduledWait& wait : schedule.workers[worker][done[worker]].waits) {
        if (done[static_cast<size_t>(wait.worker)] <= static_cast<size_t>(wait.step)) return false;
      }
      return true;
    };
    for (;;) {
      std::vector<size_t> ready;
      for (size_t worker = 0; worker < done.size(); ++worker) {
        if (is_ready(worker)) ready.push_back(worker);
      }
      if (ready.empty()) break;
      const size_t worker = ready[random_() % ready.size()];
      Execute(graph_.op(schedule.workers[worker][done[worker]++].op), number, error);
      if (!error.empty()) return;
    }
    for (size_t worker = 0; worker < done.size(); ++worker) {
      const bool is_of_stage = schedule.stage_of_worker[worker] == static_cast<int32_t>(stage);
      if (is_of_stage && done[worker] < schedule.workers[worker].size()) error = "waits forever";
    }
  }

  /// The stage whose own arena the tensor lies in.
  [[nodiscard]] size_t StageOf(TensorId id) const {
    const auto found = storage_of_root_.find(program_.staged.locations.at(id).root);
    if (found == storage_of_root_.end()) return SIZE_MAX;
    const std::vector<int32_t>& arenas = program_.arenas.arena_of_stage;
    for (size_t s = 0; s < arenas.size(); ++s) {
      if (arenas[s] == found->second->arena) return s;
    }
    return SIZE_MAX;
  }

  void* Data(TensorId id, size_t number, std::string& error) {
    static std::byte empty[16];
    const Location& location = program_.staged.locations.at(id);
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
    const PlannedArena& arena = plan_.arenas[static_cast<size_t>(storage.arena)];
    if (storage.offset + storage.bytes > arena.bytes) {
      error = graph_.tensor(id).name + " lies outside its arena";
      return empty;
    }
    const auto slot = static_cast<int64_t>(number % static_cast<size_t>(arena.slots));
    return memory_[static_cast<size_t>(storage.arena)].data() + slot * SlotBytes(arena) +
           storage.offset + location.offset;
  }

  void Execute(const Op& op, size_t number, std::string& error) {
    std::vector<TensorId> ids = op.inputs;
    ids.insert(ids.end(), op.outputs.begin(), op.outputs.end());
    std::vector<TensorView> views(ids.size());
    std::vector<int32_t> in;
    std::vector<int32_t> out;
    for (size_t i = 0; i < ids.size(); ++i) {
      (i < op.inputs.size() ? in : out).push_back(ids[i] == kNone ? -1 : static_cast<int32_t>(i));
      if (ids[i] == kNone) continue;
      const Tensor& tensor = graph_.tensor(ids[i]);
      views[i] = {Data(ids[i], number, error), tensor.shape.dims,
                  program_.staged.locations.at(ids[i]).strides.data(), tensor.dtype,
                  static_cast<uint8_t>(tensor.shape.rank)};
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

  const PipelineProgram& program_;
  const Graph& graph_;
  const ArenaPlan& plan_;
  std::mt19937_64 random_;
  std::map<TensorId, const PlannedStorage*> storage_of_root_;
  std::vector<std::vector<std::byte>> memory_;  ///< by arena
};

}  // namespace tenon::converter
