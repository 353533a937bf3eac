#include "converter/stage/stage_programs.hpp"

#include <algorithm>
#include <utility>

#include "converter/schedule/memory_steps_of_graph.hpp"

namespace tenon::converter {
namespace {

constexpr int32_t kSeveralStages = -1;
constexpr int32_t kOfNoStage = -2;

/// The problem of one stage, and which ops of the whole it has.
struct StageSteps {
  MemoryStepsProblem problem;
  std::vector<Index> ops;
};

class Programmer {
 public:
  Programmer(const StagedGraph& staged, const StageProgramOptions& options)
      : staged_(staged), options_(options) {
    StepTimes times;
    times.run = options.time;
    whole_ = MakeStepsProblem(staged.graph, staged.locations, times);
    FindOwners();
  }

  Result<StagePrograms> Run(PassReport& report) {
    StagePrograms made;
    std::vector<MemoryStep> steps;
    std::vector<int32_t> stage_of_step;
    for (size_t s = 0; s < options_.own_bytes.size(); ++s) {
      const StageSteps stage = StepsOf(static_cast<int32_t>(s));
      const MemoryProgram program = SolveMemoryProgram(stage.problem, options_.solve);
      if (!program.fits) {
        made = {};
        made.too_small = static_cast<int32_t>(s);
        return made;
      }
      for (const MemoryStep& step : program.steps) {
        steps.push_back({step.kind, stage.ops[step.what]});
        stage_of_step.push_back(static_cast<int32_t>(s));
      }
      made.repeated.push_back(static_cast<int>(program.steps.size() - stage.ops.size()));
    }
    made.staged = staged_;
    TENON_ASSIGN_OR_RETURN(const RanSteps ran,
                           RunSteps(made.staged.graph, staged_.locations, whole_, steps));
    for (size_t i = 0; i < ran.steps.size(); ++i) {
      const auto op = static_cast<size_t>(ran.steps[i]);
      std::vector<int32_t>& stages = made.staged.stage_of_op;
      if (stages.size() <= op) stages.resize(op + 1, -1);
      stages[op] = stage_of_step[i];
    }
    StageViews(made.staged);
    made.staged.steps.clear();
    TENON_RETURN_IF_ERROR(PlaceInStages(made.staged, options_.backend_of_stage, report));
    report.changed += ran.repeated;
    return made;
  }

 private:
  /// A view is where its input is made: copies of ports that earlier placing has inserted may read
  /// it in that stage.
  void StageViews(StagedGraph& staged) const {
    const std::vector<bool>& elided = staged_.locations.elided;
    for (const OpId id : staged.graph.OpOrder()) {
      const auto k = static_cast<size_t>(id);
      if (k >= elided.size() || !elided[k]) continue;
      int32_t last = -1;
      for (const TensorId input : staged.graph.op(id).inputs) {
        const OpId producer = input == kNone ? kNone : staged.graph.tensor(input).producer;
        if (producer == kNone) continue;
        last = std::max(last, staged.stage_of_op[static_cast<size_t>(producer)]);
      }
      if (last >= 0) staged.stage_of_op[k] = last;
    }
  }

  [[nodiscard]] int32_t StageOf(Index op) const {
    return staged_.stage_of_op[static_cast<size_t>(whole_.ops[op])];
  }

  void FindOwners() {
    owner_.assign(whole_.problem.storages.size(), kOfNoStage);
    for (Index op = 0; op < whole_.ops.size(); ++op) {
      const RepeatableOp& row = whole_.problem.ops[op];
      for (const std::vector<Index>* used : {&row.reads, &row.writes}) {
        for (const Index s : *used) {
          const bool is_first = owner_[s] == kOfNoStage || owner_[s] == StageOf(op);
          owner_[s] = is_first ? StageOf(op) : kSeveralStages;
        }
      }
    }
  }

  [[nodiscard]] StageSteps StepsOf(int32_t stage) const {
    StageSteps steps;
    steps.problem.fast_bytes = options_.own_bytes[static_cast<size_t>(stage)];
    std::vector<Index> number(owner_.size(), 0);
    for (Index s = 0; s < owner_.size(); ++s) {
      if (owner_[s] != stage) continue;
      number[s] = static_cast<Index>(steps.problem.storages.size());
      steps.problem.storages.push_back(whole_.problem.storages[s]);
    }
    const auto own = [&](const std::vector<Index>& used) {
      std::vector<Index> kept;
      for (const Index s : used) {
        if (owner_[s] == stage) kept.push_back(number[s]);
      }
      return kept;
    };
    for (Index op = 0; op < whole_.ops.size(); ++op) {
      if (StageOf(op) != stage) continue;
      RepeatableOp row = whole_.problem.ops[op];
      row.reads = own(row.reads);
      row.writes = own(row.writes);
      if (row.writes.empty()) row.may_repeat = false;
      std::vector<HandOver> hand_overs;
      for (const HandOver& pair : row.hand_overs) {
        if (owner_[pair.from] != stage || owner_[pair.to] != stage) continue;
        hand_overs.push_back({number[pair.from], number[pair.to]});
      }
      row.hand_overs = std::move(hand_overs);
      steps.problem.ops.push_back(std::move(row));
      steps.ops.push_back(op);
    }
    return steps;
  }

  const StagedGraph& staged_;
  const StageProgramOptions& options_;
  StepsOfGraph whole_;
  std::vector<int32_t> owner_;  ///< by storage: the stage that alone uses it
};

}  // namespace

std::optional<int64_t> CommonLevel(const std::vector<int64_t>& own, const std::vector<bool>& stays,
                                   int64_t goal) {
  std::vector<int64_t> sizes;
  for (size_t s = 0; s < own.size(); ++s) {
    if (stays[s]) {
      goal -= own[s];
    } else {
      sizes.push_back(own[s]);
    }
  }
  std::sort(sizes.begin(), sizes.end());
  for (size_t i = 0; i < sizes.size() && goal > 0; ++i) {
    const int64_t level = goal / static_cast<int64_t>(sizes.size() - i);
    if (level < sizes[i]) return level > 0 ? std::optional(level) : std::nullopt;
    goal -= sizes[i];
  }
  return std::nullopt;
}

Result<StagePrograms> RunStagesAgain(const StagedGraph& staged, const StageProgramOptions& options,
                                     PassReport& report) {
  return Programmer(staged, options).Run(report);
}

}  // namespace tenon::converter
