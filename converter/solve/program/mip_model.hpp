// States the search for steps as a mixed-integer program.
//
// At every position it is open whether its op runs (a first run does) and which storages are in
// fast memory; between positions storages are moved or let go. What a storage is, in which memory,
// changes only next to positions that could use it: elsewhere changes bring nothing, so it has one
// variable from one such place to the next.
//   - An op runs only with all that it reads in fast memory.
//   - A storage comes to fast memory by a run of its writer, or from slow memory, and is in slow
//     memory only after a move from fast memory.
//   - At every position, the bytes in fast memory, with the op's workspace and without what it
//     takes over, are within the limit; those in slow memory are within theirs.
// Without a copy engine, moves add to the time. With one, a position takes the longer of its op and
// of the moves that are done beside it: what is moved in is there for the next position.
#pragma once

#include <vector>

#include "converter/solve/mip/mip.hpp"
#include "converter/solve/program/memory_steps.hpp"
#include "converter/solve/program/mip_positions.hpp"

namespace tenon::converter {

class MipModel {
 public:
  MipModel(const MemoryStepsProblem& problem, std::vector<Position> positions);

  [[nodiscard]] const MipProblem& mip() const { return mip_; }

  /// Returns the steps that a solution means.
  [[nodiscard]] std::vector<MemoryStep> StepsOf(const std::vector<double>& values) const;

  /// Returns the values of integer columns that mean these steps; empty if the model cannot express
  /// them.
  [[nodiscard]] std::vector<double> ValuesOf(const std::vector<MemoryStep>& steps) const;

  /// Converts the objective into time, which includes every op once.
  [[nodiscard]] double TimeOf(double objective) const { return base_time_ + objective / scale_; }

 private:
  /// A stretch of positions in which nothing about a storage changes.
  struct Stretch {
    size_t begin = 0;
    int32_t fast = -1;  ///< columns; -1: there is none
    int32_t slow = -1;
    int32_t in = -1;  ///< moved in as it begins
    int32_t out = -1;
  };

  void FindStretches(Index storage);
  void AddColumns(Index storage);
  void AddChanges(Index storage);
  void AddRuns(size_t position);
  void AddHandOvers(size_t position);
  void AddCapacity();
  void AddTimes();
  [[nodiscard]] const Stretch* StretchAt(Index storage, size_t position) const;
  [[nodiscard]] bool Uses(const Position& position, Index storage, bool& writes) const;
  void AddRun(size_t position, double factor, std::vector<MipProblem::Term>& terms,
              double& constant) const;

  const MemoryStepsProblem& problem_;
  const std::vector<Position> positions_;
  MipProblem mip_;
  double scale_ = 1;
  double base_time_ = 0;
  std::vector<int32_t> run_;                          ///< by position; -1: a first run
  std::vector<std::vector<Stretch>> stretches_;       ///< by storage
  std::vector<size_t> end_;                           ///< by storage: behind its last stretch
  std::vector<size_t> first_write_, last_write_;      ///< by storage: positions of first runs
  std::vector<std::vector<size_t>> uses_;             ///< by storage: positions that may use it
  std::vector<std::vector<MipProblem::Term>> saved_;  ///< by position: hand-overs
};

}  // namespace tenon::converter
