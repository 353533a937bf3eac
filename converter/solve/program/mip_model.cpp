#include "converter/solve/program/mip_model.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace tenon::converter {
namespace {

constexpr size_t kNowhere = SIZE_MAX;

bool Contains(const std::vector<Index>& all, Index one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

MipModel::MipModel(const MemoryStepsProblem& problem, std::vector<Position> positions)
    : problem_(problem),
      positions_(std::move(positions)),
      run_(positions_.size(), -1),
      stretches_(problem.storages.size()),
      end_(problem.storages.size(), 0),
      first_write_(problem.storages.size(), kNowhere),
      last_write_(problem.storages.size(), kNowhere),
      uses_(problem.storages.size()),
      saved_(positions_.size()) {
  constexpr double kTotal = 1000;
  for (const RepeatableOp& op : problem.ops) base_time_ += static_cast<double>(op.time);
  scale_ = kTotal / std::max(base_time_, 1.0);
  for (size_t p = 0; p < positions_.size(); ++p) {
    if (positions_[p].first) continue;
    const double time = static_cast<double>(problem.ops[positions_[p].op].time) * scale_;
    run_[p] = mip_.AddColumn({0, 1, problem.copy_engine ? 0 : time, true});
  }
  for (Index s = 0; s < problem.storages.size(); ++s) {
    FindStretches(s);
    AddColumns(s);
  }
  for (Index s = 0; s < problem.storages.size(); ++s) AddChanges(s);
  for (size_t p = 0; p < positions_.size(); ++p) {
    AddRuns(p);
    AddHandOvers(p);
  }
  AddCapacity();
  if (problem.copy_engine) AddTimes();
}

bool MipModel::Uses(const Position& position, Index storage, bool& writes) const {
  writes = false;
  if (position.op == problem_.ops.size()) return problem_.storages[storage].to_end;
  const RepeatableOp& op = problem_.ops[position.op];
  writes = Contains(op.writes, storage);
  return writes || Contains(op.reads, storage);
}

void MipModel::FindStretches(Index s) {
  std::set<size_t> begins;
  size_t begin = problem_.storages[s].from_start ? 0 : kNowhere;
  for (size_t p = 0; p < positions_.size(); ++p) {
    bool writes = false;
    if (!Uses(positions_[p], s, writes)) continue;
    uses_[s].push_back(p);
    begin = std::min(begin, p);
    end_[s] = p + 1;
    if (writes && positions_[p].first) {
      first_write_[s] = std::min(first_write_[s], p);
      last_write_[s] = p;
    }
    begins.insert({p, p + 1});
    if (problem_.copy_engine) begins.insert(p + 2);
    if (problem_.copy_engine && p > 0) begins.insert(p - 1);
  }
  if (begin == kNowhere) return;
  begins.insert(begin);
  for (const size_t at : begins) {
    if (at >= begin && at < end_[s]) stretches_[s].push_back({at});
  }
}

void MipModel::AddColumns(Index s) {
  const MovableStorage& storage = problem_.storages[s];
  const bool moves = storage.may_move && problem_.slow_bytes > 0;
  // A small price keeps moves away that bring nothing where the engine does them for free.
  constexpr double kLeastPrice = 1e-3;
  const auto price = [&](int64_t time) {
    return problem_.copy_engine ? kLeastPrice : static_cast<double>(time) * scale_;
  };
  std::vector<Stretch>& stretches = stretches_[s];
  for (size_t k = 0; k < stretches.size(); ++k) {
    Stretch& stretch = stretches[k];
    const size_t end = k + 1 < stretches.size() ? stretches[k + 1].begin : end_[s];
    const bool is_written =
        first_write_[s] != kNowhere && stretch.begin <= last_write_[s] && end > first_write_[s];
    stretch.fast = mip_.AddColumn({is_written ? 1.0 : 0.0, 1, 0, false});
    if (!moves) continue;
    stretch.slow = mip_.AddColumn({0, 1, 0, false});
    const bool is_complete = last_write_[s] == kNowhere || stretch.begin > last_write_[s];
    if (!is_complete) continue;
    stretch.out = mip_.AddColumn({0, 1, price(storage.out_time), true});
    stretch.in = mip_.AddColumn({0, 1, price(storage.in_time), true});
  }
}

/// What is in a memory was there before, or came there.
void MipModel::AddChanges(Index s) {
  const std::vector<Stretch>& stretches = stretches_[s];
  for (size_t k = 0; k < stretches.size(); ++k) {
    const Stretch& now = stretches[k];
    const Stretch* before = k > 0 ? &stretches[k - 1] : nullptr;
    if (now.slow >= 0) {
      std::vector<MipProblem::Term> terms = {{now.slow, 1}};
      if (before != nullptr) terms.push_back({before->slow, -1});
      if (now.out >= 0) terms.push_back({now.out, -1});
      mip_.AddRow(-kMipInfinity, std::move(terms), 0);
    }
    if (now.in >= 0) {
      std::vector<MipProblem::Term> terms = {{now.in, 1}};
      if (before != nullptr) terms.push_back({before->slow, -1});
      mip_.AddRow(-kMipInfinity, std::move(terms), 0);
    }
    if (now.out >= 0 && problem_.copy_engine) {
      mip_.AddRow(-kMipInfinity, {{now.out, 1}, {now.fast, -1}, {now.in, 1}}, 0);
    } else if (now.out >= 0 && before != nullptr) {
      mip_.AddRow(-kMipInfinity, {{now.out, 1}, {before->fast, -1}}, 0);
    }
    if (before == nullptr) continue;
    std::vector<MipProblem::Term> terms = {{now.fast, 1}, {before->fast, -1}};
    if (now.in >= 0) terms.push_back({now.in, -1});
    double made = 0;
    bool writes = false;
    if (Uses(positions_[now.begin], s, writes) && writes) AddRun(now.begin, -1, terms, made);
    mip_.AddRow(-kMipInfinity, std::move(terms), -made);
  }
}

/// Adds `factor` if the op of the position runs.
void MipModel::AddRun(size_t position, double factor, std::vector<MipProblem::Term>& terms,
                      double& constant) const {
  if (run_[position] < 0) {
    constant += factor;
  } else {
    terms.push_back({run_[position], factor});
  }
}

const MipModel::Stretch* MipModel::StretchAt(Index s, size_t position) const {
  if (position >= end_[s]) return nullptr;
  const auto after =
      std::upper_bound(stretches_[s].begin(), stretches_[s].end(), position,
                       [](size_t at, const Stretch& stretch) { return at < stretch.begin; });
  return after == stretches_[s].begin() ? nullptr : &*std::prev(after);
}

void MipModel::AddRuns(size_t position) {
  const Position& at = positions_[position];
  const auto require = [&](Index s, bool reads) {
    const Stretch* stretch = StretchAt(s, position);
    std::vector<MipProblem::Term> terms;
    double constant = 0;
    AddRun(position, 1, terms, constant);
    // Nobody has written it: an op that reads it can't run, so this problem has no solution.
    if (stretch != nullptr) terms.push_back({stretch->fast, -1});
    const bool arrives = stretch != nullptr && stretch->in >= 0 && stretch->begin == position;
    if (reads && arrives && problem_.copy_engine) terms.push_back({stretch->in, 1});
    mip_.AddRow(-kMipInfinity, std::move(terms), -constant);
  };
  if (at.op == problem_.ops.size()) {
    for (Index s = 0; s < problem_.storages.size(); ++s) {
      if (problem_.storages[s].to_end) require(s, true);
    }
    return;
  }
  for (const Index s : problem_.ops[at.op].reads) require(s, true);
  for (const Index s : problem_.ops[at.op].writes) require(s, false);
}

/// An op takes over the bytes of an input if that is not kept behind it.
void MipModel::AddHandOvers(size_t position) {
  const Position& at = positions_[position];
  if (at.op == problem_.ops.size()) return;
  std::vector<MipProblem::Term> one;
  for (const HandOver& hand_over : problem_.ops[at.op].hand_overs) {
    const bool opens = !at.first || (first_write_[hand_over.to] == position &&
                                     !problem_.storages[hand_over.to].from_start);
    if (!opens) continue;
    const int32_t takes = mip_.AddColumn({0, 1, 0, false});
    std::vector<MipProblem::Term> terms = {{takes, 1}};
    double constant = 0;
    AddRun(position, -1, terms, constant);
    mip_.AddRow(-kMipInfinity, std::move(terms), -constant);
    if (const Stretch* next = StretchAt(hand_over.from, position + 1)) {
      mip_.AddRow(-kMipInfinity, {{takes, 1}, {next->fast, 1}}, 1);
      if (next->out >= 0 && !problem_.copy_engine) {
        mip_.AddRow(-kMipInfinity, {{takes, 1}, {next->out, 1}}, 1);
      }
    }
    one.push_back({takes, 1});
    const auto bytes = static_cast<double>(problem_.storages[hand_over.from].bytes);
    saved_[position].push_back({takes, -bytes});
  }
  if (one.size() > 1) mip_.AddRow(-kMipInfinity, std::move(one), 1);
}

void MipModel::AddCapacity() {
  std::vector<std::vector<MipProblem::Term>> fast(saved_);
  std::vector<std::vector<MipProblem::Term>> slow(positions_.size());
  std::vector<double> most(positions_.size(), 0);
  double most_slow = 0;
  for (Index s = 0; s < stretches_.size(); ++s) {
    const auto bytes = static_cast<double>(problem_.storages[s].bytes);
    if (problem_.storages[s].may_move) most_slow += bytes;
    for (size_t k = 0; k < stretches_[s].size(); ++k) {
      const size_t end = k + 1 < stretches_[s].size() ? stretches_[s][k + 1].begin : end_[s];
      for (size_t p = stretches_[s][k].begin; p < end; ++p) {
        fast[p].push_back({stretches_[s][k].fast, bytes});
        most[p] += bytes;
        if (stretches_[s][k].slow >= 0) slow[p].push_back({stretches_[s][k].slow, bytes});
      }
    }
  }
  // Bytes as shares of the limit keep the numbers of all rows alike.
  const auto add = [&](std::vector<MipProblem::Term> terms, double used, int64_t limit) {
    const double unit = std::max<double>(1, static_cast<double>(limit));
    for (MipProblem::Term& term : terms) term.factor /= unit;
    mip_.AddRow(-kMipInfinity, std::move(terms), (static_cast<double>(limit) - used) / unit);
  };
  for (size_t p = 0; p < positions_.size(); ++p) {
    const bool is_end = positions_[p].op == problem_.ops.size();
    const auto workspace =
        is_end ? 0.0 : static_cast<double>(problem_.ops[positions_[p].op].workspace);
    double used = 0;
    AddRun(p, workspace, fast[p], used);
    if (most[p] + workspace > static_cast<double>(problem_.fast_bytes)) {
      add(std::move(fast[p]), used, problem_.fast_bytes);
    }
    if (problem_.slow_bytes > 0 && most_slow > static_cast<double>(problem_.slow_bytes)) {
      add(std::move(slow[p]), 0, problem_.slow_bytes);
    }
  }
}

/// With a copy engine: a position takes as long as its op, and as its moves.
void MipModel::AddTimes() {
  std::vector<std::vector<MipProblem::Term>> moves(positions_.size());
  for (Index s = 0; s < stretches_.size(); ++s) {
    const MovableStorage& storage = problem_.storages[s];
    for (const Stretch& stretch : stretches_[s]) {
      if (stretch.in < 0) continue;
      moves[stretch.begin].push_back({stretch.in, static_cast<double>(storage.in_time) * scale_});
      moves[stretch.begin].push_back({stretch.out, static_cast<double>(storage.out_time) * scale_});
    }
  }
  for (size_t p = 0; p < positions_.size(); ++p) {
    const bool is_end = positions_[p].op == problem_.ops.size();
    const double time =
        is_end ? 0.0 : static_cast<double>(problem_.ops[positions_[p].op].time) * scale_;
    // The first run's own time is in the base: this is what comes on top of it.
    const int32_t added = mip_.AddColumn({0, kMipInfinity, 1, false});
    const double own = positions_[p].first ? time : 0;
    if (!positions_[p].first) mip_.AddRow(0, {{added, 1}, {run_[p], -time}}, kMipInfinity);
    if (moves[p].empty()) continue;
    for (MipProblem::Term& term : moves[p]) term.factor = -term.factor;
    moves[p].push_back({added, 1});
    mip_.AddRow(-own, std::move(moves[p]), kMipInfinity);
  }
}

std::vector<MemoryStep> MipModel::StepsOf(const std::vector<double>& values) const {
  const auto is_set = [&](int32_t column) {
    return column >= 0 && values[static_cast<size_t>(column)] > 0.5;
  };
  std::vector<std::vector<MemoryStep>> ins(positions_.size());
  std::vector<std::vector<MemoryStep>> outs(positions_.size());
  for (Index s = 0; s < stretches_.size(); ++s) {
    for (const Stretch& stretch : stretches_[s]) {
      if (is_set(stretch.in)) ins[stretch.begin].push_back({StepKind::kMoveIn, s});
      if (is_set(stretch.out)) outs[stretch.begin].push_back({StepKind::kMoveOut, s});
    }
  }
  std::vector<MemoryStep> steps;
  const auto append = [&](const std::vector<MemoryStep>& more) {
    steps.insert(steps.end(), more.begin(), more.end());
  };
  for (size_t p = 0; p < positions_.size(); ++p) {
    if (!problem_.copy_engine) append(outs[p]);
    append(ins[p]);
    const bool runs = run_[p] < 0 || is_set(run_[p]);
    if (runs && positions_[p].op < problem_.ops.size()) {
      steps.push_back({StepKind::kRun, positions_[p].op});
    }
    if (problem_.copy_engine) append(outs[p]);
  }
  return steps;
}

std::vector<double> MipModel::ValuesOf(const std::vector<MemoryStep>& steps) const {
  std::vector<double> values(mip_.columns.size(), 0);
  std::vector<size_t> last_use(problem_.storages.size(), kNowhere);
  std::vector<bool> comes(problem_.storages.size(), false);
  const auto set = [&](int32_t column) {
    if (column < 0) return false;
    values[static_cast<size_t>(column)] = 1;
    return true;
  };
  const auto arrive = [&](Index s, size_t position) {
    if (!comes[s]) return true;
    comes[s] = false;
    const size_t at = problem_.copy_engine && position > 0 ? position - 1 : position;
    const Stretch* stretch = StretchAt(s, at);
    return stretch != nullptr && stretch->begin == at && set(stretch->in);
  };
  size_t position = 0;
  for (const MemoryStep& step : steps) {
    if (step.kind == StepKind::kMoveIn) {
      comes[step.what] = true;
      continue;
    }
    if (step.kind == StepKind::kMoveOut) {
      const size_t used = last_use[step.what];
      const size_t at = used == kNowhere ? 0 : used + 1;
      const Stretch* stretch = StretchAt(step.what, at);
      if (stretch == nullptr || stretch->begin != at || !set(stretch->out)) return {};
      continue;
    }
    while (position < positions_.size() &&
           (positions_[position].op != step.what || position + 1 == positions_.size())) {
      if (positions_[position].first) return {};
      ++position;
    }
    if (position == positions_.size()) return {};
    if (run_[position] >= 0) set(run_[position]);
    const RepeatableOp& op = problem_.ops[step.what];
    for (const Index s : op.reads) {
      if (!arrive(s, position)) return {};
      last_use[s] = position;
    }
    for (const Index s : op.writes) last_use[s] = position;
    ++position;
  }
  for (Index s = 0; s < problem_.storages.size(); ++s) {
    if (comes[s] && !arrive(s, positions_.size() - 1)) return {};
  }
  return values;
}

}  // namespace tenon::converter
