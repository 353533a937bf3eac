#include "converter/solve/stage/side_by_side.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tenon::converter {
namespace {

/// Runs of one replica that are simulated: the first meets no others' leftovers, later ones do.
constexpr int64_t kRunsSimulated = 4;
/// Repetitions after which shares of time have settled, in practice.
constexpr int kRounds = 6;

/// Returns the bytes of a step that no cache of its own serves.
int64_t BytesBeyondCache(const SimulatedStep& step, const SharedBandwidth& memory) {
  int64_t bytes = 0;
  for (const PortUse& use : step.uses) bytes += use.bytes;
  if (memory.cache_bytes <= 0) return bytes;
  const auto cache = static_cast<double>(memory.cache_bytes);
  const double beyond = std::clamp((static_cast<double>(bytes) - cache / 2) / cache, 0.0, 1.0);
  return static_cast<int64_t>(static_cast<double>(bytes) * beyond);
}

/// Unrolls a program: `replicas` copies, each `rounds` times.
class BranchUnroller {
 public:
  BranchUnroller(const SimulatedProgram& once, const SideBySide& options)
      : once_(once), options_(options) {
    result_.ports = once.ports;
    if (options.memory.bytes_per_second > 0 && options.replicas > 1) {
      memory_port_ = static_cast<int32_t>(result_.ports.size());
      result_.ports.push_back({"all", options.memory.bytes_per_second, true});
    }
  }

  SimulatedProgram Run(int32_t replicas, int64_t rounds) {
    AddUnits(replicas);
    const auto steps = static_cast<int32_t>(once_.steps.size());
    for (int64_t round = 0; round < rounds; ++round) {
      const auto base = static_cast<int32_t>(result_.steps.size());
      // Steps of the replicas take turns in the list, so that units for all serve them in turn.
      for (int32_t i = 0; i < steps; ++i) {
        for (int32_t replica = 0; replica < replicas; ++replica) {
          AddStep(once_.steps[static_cast<size_t>(i)], i, base, replica, replicas);
        }
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool IsForAll(size_t unit) const {
    return unit < options_.one_for_all.size() && options_.one_for_all[unit];
  }

  void AddUnits(int32_t replicas) {
    for (int32_t replica = 0; replica < replicas; ++replica) {
      units_.emplace_back();
      for (size_t unit = 0; unit < once_.units.size(); ++unit) {
        if (replica > 0 && IsForAll(unit)) {
          units_.back().push_back(units_.front()[unit]);
          continue;
        }
        units_.back().push_back(static_cast<int32_t>(result_.units.size()));
        result_.units.push_back(once_.units[unit]);
      }
    }
  }

  void AddStep(const SimulatedStep& from, int32_t index, int32_t base, int32_t replica,
               int32_t replicas) {
    SimulatedStep step = from;
    step.unit = units_[static_cast<size_t>(replica)][static_cast<size_t>(from.unit)];
    for (int32_t& wait : step.waits) wait = base + wait * replicas + replica;
    if (index == 0) step.fixed += options_.hand_over;
    // A run begins when the replica's last one is over on all of its units.
    const auto per_round = static_cast<int32_t>(once_.steps.size()) * replicas;
    if (base > 0 && step.waits.empty()) {
      for (int32_t i = 0; i < per_round / replicas; ++i) {
        if (IsLastOfUnit(i)) step.waits.push_back(base - per_round + i * replicas + replica);
      }
    }
    if (memory_port_ >= 0) {
      step.uses.push_back({memory_port_, BytesBeyondCache(from, options_.memory)});
    }
    result_.steps.push_back(std::move(step));
  }
  [[nodiscard]] bool IsLastOfUnit(int32_t index) {
    if (last_of_unit_.empty()) {
      last_of_unit_.assign(once_.steps.size(), false);
      std::vector<bool> seen(once_.units.size());
      for (size_t i = once_.steps.size(); i-- > 0;) {
        const auto unit = static_cast<size_t>(once_.steps[i].unit);
        last_of_unit_[i] = !seen[unit];
        seen[unit] = true;
      }
    }
    return last_of_unit_[static_cast<size_t>(index)];
  }

  const SimulatedProgram& once_;
  const SideBySide& options_;
  int32_t memory_port_ = -1;
  std::vector<std::vector<int32_t>> units_;  ///< by replica and unit of the program
  std::vector<bool> last_of_unit_;
  SimulatedProgram result_;
};

Result<Picoseconds> Makespan(const SimulatedProgram& once, const SideBySide& options,
                             int32_t replicas, int64_t rounds) {
  if (replicas == 0 || rounds == 0) return Picoseconds{0};
  TENON_ASSIGN_OR_RETURN(const Simulation simulation,
                         Simulate(BranchUnroller(once, options).Run(replicas, rounds)));
  return simulation.makespan;
}

/// Returns by step how many of `threads` threads work on it, on average, if units that work at the
/// same time have as many each.
std::vector<double> ThreadsOf(const SimulatedProgram& program, const Simulation& simulation,
                              int threads) {
  struct Change {
    Picoseconds time;
    int32_t step;
    int32_t busy;  ///< +1 or -1
  };
  std::vector<Change> changes;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (simulation.end[i] == simulation.start[i]) continue;
    changes.push_back({simulation.start[i], static_cast<int32_t>(i), 1});
    changes.push_back({simulation.end[i], static_cast<int32_t>(i), -1});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.time, a.busy, a.step) < std::tie(b.time, b.busy, b.step);
  });
  std::vector<double> working(program.steps.size(), 0);
  std::vector<int32_t> running;
  Picoseconds before = 0;
  for (const Change& change : changes) {
    for (const int32_t step : running) {
      const double each =
          std::max(1.0, static_cast<double>(threads) / static_cast<double>(running.size()));
      working[static_cast<size_t>(step)] += each * static_cast<double>(change.time - before);
    }
    before = change.time;
    if (change.busy > 0) {
      running.push_back(change.step);
    } else {
      running.erase(std::find(running.begin(), running.end(), change.step));
    }
  }
  for (size_t i = 0; i < working.size(); ++i) {
    const auto length = static_cast<double>(simulation.end[i] - simulation.start[i]);
    working[i] = length > 0 ? working[i] / length : 1;
  }
  return working;
}

/// Returns the step if it goes `times` as fast.
SimulatedStep Faster(const SimulatedStep& step, double times) {
  SimulatedStep faster = step;
  faster.compute = static_cast<Picoseconds>(static_cast<double>(step.compute) / times);
  for (PortUse& use : faster.uses) {
    use.bytes = static_cast<int64_t>(static_cast<double>(use.bytes) / times);
  }
  return faster;
}

}  // namespace

Result<Picoseconds> SideBySideTime(const SimulatedProgram& once, const SideBySide& options) {
  const int64_t replicas = std::min<int64_t>(options.replicas, options.runs);
  if (replicas < 1) return Picoseconds{0};
  const int64_t rounds = options.runs / replicas;
  const int64_t rest = options.runs % replicas;
  const auto all = static_cast<int32_t>(replicas);
  const int64_t simulated = std::min(rounds, kRunsSimulated);
  TENON_ASSIGN_OR_RETURN(Picoseconds time, Makespan(once, options, all, simulated));
  if (rounds > simulated) {
    TENON_ASSIGN_OR_RETURN(const Picoseconds fewer, Makespan(once, options, all, simulated - 1));
    time += (rounds - simulated) * (time - fewer);
  }
  TENON_ASSIGN_OR_RETURN(const Picoseconds last,
                         Makespan(once, options, static_cast<int32_t>(rest), rest > 0 ? 1 : 0));
  return time + last;
}

Result<SimulatedProgram> WithIdleHelp(const SimulatedProgram& program, int threads,
                                      const std::vector<double>& helped) {
  SimulatedProgram result = program;
  for (int round = 0; round < kRounds && threads > 1; ++round) {
    TENON_ASSIGN_OR_RETURN(const Simulation simulation, Simulate(result));
    const std::vector<double> working = ThreadsOf(result, simulation, threads);
    for (size_t i = 0; i < result.steps.size(); ++i) {
      const double gain = (i < helped.size() ? helped[i] : 1.0) - 1;
      result.steps[i] = Faster(program.steps[i], 1 + gain * (working[i] - 1) / (threads - 1));
    }
  }
  return result;
}

}  // namespace tenon::converter
