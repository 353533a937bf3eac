#include "converter/solve/mip/mip.hpp"

#include <Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

namespace tenon::converter {
namespace {

struct DeleteModel {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using Model = std::unique_ptr<Cbc_Model, DeleteModel>;

/// The solver's matrix by columns.
struct Matrix {
  std::vector<CoinBigIndex> starts;
  std::vector<int> rows;
  std::vector<double> factors;
};

Matrix ByColumns(const MipProblem& problem) {
  std::vector<std::map<int, double>> entries(problem.columns.size());
  for (size_t row = 0; row < problem.rows.size(); ++row) {
    for (const MipProblem::Term& term : problem.rows[row].terms) {
      entries[static_cast<size_t>(term.column)][static_cast<int>(row)] += term.factor;
    }
  }
  Matrix matrix;
  for (const auto& column : entries) {
    matrix.starts.push_back(static_cast<CoinBigIndex>(matrix.rows.size()));
    for (const auto& [row, factor] : column) {
      if (factor == 0) continue;
      matrix.rows.push_back(row);
      matrix.factors.push_back(factor);
    }
  }
  matrix.starts.push_back(static_cast<CoinBigIndex>(matrix.rows.size()));
  return matrix;
}

void Load(Cbc_Model* model, const MipProblem& problem) {
  const Matrix matrix = ByColumns(problem);
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> cost;
  for (const MipProblem::Column& column : problem.columns) {
    lower.push_back(column.lower);
    upper.push_back(column.upper);
    cost.push_back(column.cost);
  }
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  for (const MipProblem::Row& row : problem.rows) {
    row_lower.push_back(row.lower);
    row_upper.push_back(row.upper);
  }
  Cbc_loadProblem(model, static_cast<int>(lower.size()), static_cast<int>(row_lower.size()),
                  matrix.starts.data(), matrix.rows.data(), matrix.factors.data(), lower.data(),
                  upper.data(), cost.data(), row_lower.data(), row_upper.data());
  for (size_t i = 0; i < problem.columns.size(); ++i) {
    if (problem.columns[i].integer) Cbc_setInteger(model, static_cast<int>(i));
  }
}

void SetStart(Cbc_Model* model, const MipProblem& problem, const std::vector<double>& start) {
  std::vector<int> columns;
  std::vector<double> values;
  for (size_t i = 0; i < start.size(); ++i) {
    if (!problem.columns[i].integer) continue;
    columns.push_back(static_cast<int>(i));
    values.push_back(start[i]);
  }
  if (columns.empty()) return;
  Cbc_setMIPStartI(model, static_cast<int>(columns.size()), columns.data(), values.data());
}

void SetParameters(Cbc_Model* model, const MipOptions& options) {
  Cbc_setLogLevel(model, 0);
  const auto set = [&](const char* name, const std::string& value) {
    Cbc_setParameter(model, name, value.c_str());
  };
  set("log", "0");
  set("slog", "0");
  set("threads", "0");
  set("randomCbcSeed", "1");
  set("maxNodes", std::to_string(std::max<int64_t>(options.most_nodes, 0)));
  if (options.relative_gap > 0) set("ratioGap", std::to_string(options.relative_gap));
}

bool Holds(const MipProblem& problem, const std::vector<double>& values) {
  constexpr double kTolerance = 1e-5;
  for (size_t i = 0; i < values.size(); ++i) {
    const MipProblem::Column& column = problem.columns[i];
    if (values[i] < column.lower - kTolerance || values[i] > column.upper + kTolerance) {
      return false;
    }
    if (column.integer && std::abs(values[i] - std::round(values[i])) > kTolerance) return false;
  }
  return std::all_of(problem.rows.begin(), problem.rows.end(), [&](const MipProblem::Row& row) {
    double sum = 0;
    double size = 1;
    for (const MipProblem::Term& term : row.terms) {
      const double part = term.factor * values[static_cast<size_t>(term.column)];
      sum += part;
      size = std::max(size, std::abs(part));
    }
    return sum >= row.lower - kTolerance * size && sum <= row.upper + kTolerance * size;
  });
}

}  // namespace

MipAnswer SolveMip(const MipProblem& problem, const MipOptions& options) {
  MipAnswer answer;
  if (problem.columns.empty()) {
    answer.state = Holds(problem, {}) ? MipState::kOptimal : MipState::kInfeasible;
    return answer;
  }
  const Model model(Cbc_newModel());
  Load(model.get(), problem);
  SetParameters(model.get(), options);
  SetStart(model.get(), problem, options.start);
  Cbc_solve(model.get());
  answer.bound = Cbc_getBestPossibleObjValue(model.get());
  if (Cbc_isProvenInfeasible(model.get()) != 0) {
    answer.state = MipState::kInfeasible;
    return answer;
  }
  const double* solution = Cbc_getColSolution(model.get());
  if (solution == nullptr) return answer;
  std::vector<double> values(solution, solution + problem.columns.size());
  // A solver that was stopped may leave the values of a relaxation.
  if (!Holds(problem, values)) return answer;
  answer.objective = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    answer.objective += problem.columns[i].cost * values[i];
  }
  answer.values = std::move(values);
  const bool proved = Cbc_isProvenOptimal(model.get()) != 0;
  answer.state = proved ? MipState::kOptimal : MipState::kStopped;
  answer.bound = proved && options.relative_gap == 0 ? answer.objective
                                                     : std::min(answer.bound, answer.objective);
  return answer;
}

}  // namespace tenon::converter
