// Memory problems of networks: from DAG files, and generated cells of known families. One byte per
// element, batch 1; a concatenation is no node, its readers read the parts.
#pragma once

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

/// Adds nodes with one output each.
class ProblemBuilder {
 public:
  using Value = std::vector<Index>;  ///< nodes whose outputs are concatenated

  Index Add(const Value& inputs, int64_t bytes) {
    const auto node = static_cast<Index>(problem_.nodes.size());
    const std::set<Index> unique(inputs.begin(), inputs.end());
    MemoryNode added;
    added.predecessors.assign(unique.begin(), unique.end());
    added.storages = added.predecessors;  // node i writes storage i
    added.storages.push_back(node);
    problem_.nodes.push_back(std::move(added));
    problem_.storages.push_back({bytes, false, false});
    return node;
  }
  Index Chain(const Value& inputs, const std::vector<int64_t>& bytes) {
    Value value = inputs;
    for (const int64_t b : bytes) value = {Add(value, b)};
    return value[0];
  }
  [[nodiscard]] MemoryProblem Build() && { return std::move(problem_); }

 private:
  MemoryProblem problem_;
};

/// A file of shared/graphs/dags; none if it is not there.
inline std::optional<MemoryProblem> ReadDagProblem(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return std::nullopt;
  const auto json = nlohmann::ordered_json::parse(stream);
  std::map<std::string, Index> number;
  ProblemBuilder builder;
  for (const auto& [name, node] : json["nodes"].items()) {
    ProblemBuilder::Value inputs;
    for (const auto& term : node["inputs"]) {
      for (const auto& slice : term) inputs.push_back(number.at(slice[0].get<std::string>()));
    }
    int64_t bytes = 1;
    for (const auto& extent : node["output_shape"]) bytes *= extent.get<int64_t>();
    number[name] = builder.Add(inputs, bytes);
  }
  return std::move(builder).Build();
}

/// Cells that read the two cells before them, as architecture searches find them.
class CellNetwork {
 public:
  using Value = ProblemBuilder::Value;

  CellNetwork(int64_t side, int64_t channels) : side_(side), channels_(channels) {
    const Index image = builder_.Add({}, 3 * 4 * side * side);
    before_ = {builder_.Add({image}, Bytes())};
    last_ = {builder_.Add(before_, Bytes())};
  }

  /// NASNet-A (Zoph et al., "Learning Transferable Architectures for Scalable Image Recognition",
  /// 2018, figure 4).
  void AddNasnetNormal() {
    const auto [p, h] = Adjusted();
    const Index b1 = Sum({Separable({h}), h});
    const Index b2 = Sum({Separable({p}), Separable({h})});
    const Index b3 = Sum({One({h}), p});
    const Index b4 = Sum({One({p}), One({p})});
    const Index b5 = Sum({Separable({p}), Separable({p})});
    Finish({p, b1, b2, b3, b4, b5});
  }
  void AddNasnetReduction() {
    Halve();
    const auto [p, h] = Adjusted(4);
    const Index b1 = Sum({Separable({p}, 4), Separable({h}, 4)});
    const Index b2 = Sum({One({h}), Separable({p}, 4)});
    const Index b3 = Sum({One({h}), Separable({p}, 4)});
    const Index b4 = Sum({One({h}), Separable({b1})});
    const Index b5 = Sum({One({b1}), b2});
    Finish({b2, b3, b4, b5});
  }

  /// DARTS, second order (Liu, Simonyan, Yang, "DARTS: Differentiable Architecture Search", 2019,
  /// figures 4 and 5).
  void AddDartsNormal() {
    const auto [p, h] = Adjusted();
    const Index s2 = Sum({Separable({p}), Separable({h})});
    const Index s3 = Sum({Separable({p}), Separable({h})});
    const Index s4 = Sum({Separable({h}), p});
    const Index s5 = Sum({p, builder_.Chain({s2}, {Bytes(), Bytes(), Bytes()})});
    Finish({s2, s3, s4, s5});
  }
  void AddDartsReduction() {
    Halve();
    const auto [p, h] = Adjusted(4);
    const Index s2 = Sum({One({p}), One({h})});
    const Index s3 = Sum({s2, One({h})});
    const Index s4 = Sum({One({p}), s2});
    const Index s5 = Sum({s2, One({h})});
    Finish({s2, s3, s4, s5});
  }
  [[nodiscard]] MemoryProblem Build() && {
    builder_.Add(last_, channels_);
    return std::move(builder_).Build();
  }

 private:
  [[nodiscard]] int64_t Bytes() const { return side_ * side_ * channels_; }
  void Halve() {
    side_ = (side_ + 1) / 2;
    channels_ *= 2;
  }
  /// Both inputs of a cell brought to its channels by activation and 1x1 convolution; `scale` times
  /// the elements of the cell's own where it halves the sides.
  std::pair<Index, Index> Adjusted(int64_t scale = 1) {
    const Index p = Adjust(before_, scale);
    return {p, Adjust(last_, scale)};
  }
  Index Adjust(const Value& value, int64_t scale) {
    Value activated;
    for (const Index part : value) activated.push_back(builder_.Add({part}, BytesOf(part)));
    return Keep(builder_.Add(activated, Bytes() * scale), Bytes() * scale);
  }
  /// Activation, depthwise and pointwise convolution, twice; the first may halve the sides.
  Index Separable(const Value& x, int64_t scale = 1) {
    const int64_t b = Bytes();
    return Keep(builder_.Chain(x, {b * scale, b, b, b, b, b}), b);
  }
  Index One(const Value& x) { return Keep(builder_.Add(x, Bytes()), Bytes()); }
  Index Sum(const Value& x) { return One(x); }
  Index Keep(Index node, int64_t bytes) {
    bytes_[node] = bytes;
    return node;
  }
  [[nodiscard]] int64_t BytesOf(Index node) const {
    const auto found = bytes_.find(node);
    return found == bytes_.end() ? Bytes() : found->second;
  }
  void Finish(Value output) {
    before_ = last_;
    last_ = std::move(output);
  }

  ProblemBuilder builder_;
  int64_t side_;
  int64_t channels_;
  Value before_, last_;
  std::map<Index, int64_t> bytes_;
};

/// `normal` cells, a reduction, `normal` cells, a reduction, `normal` cells.
inline MemoryProblem NasnetProblem(int normal) {
  CellNetwork network(42, 168);
  for (int stage = 0; stage < 3; ++stage) {
    if (stage > 0) network.AddNasnetReduction();
    for (int i = 0; i < normal; ++i) network.AddNasnetNormal();
  }
  return std::move(network).Build();
}
inline MemoryProblem DartsProblem(int normal) {
  CellNetwork network(28, 48);
  for (int stage = 0; stage < 3; ++stage) {
    if (stage > 0) network.AddDartsReduction();
    for (int i = 0; i < normal; ++i) network.AddDartsNormal();
  }
  return std::move(network).Build();
}

/// Huang et al., "Densely Connected Convolutional Networks", 2017, table 1: growth 32.
inline MemoryProblem DensenetProblem(const std::vector<int>& layers) {
  ProblemBuilder builder;
  int64_t area = 56 * 56;
  int64_t channels = 64;
  const Index image = builder.Add({}, 3 * 224 * 224);
  ProblemBuilder::Value value = {builder.Chain({image}, {channels * 112 * 112, channels * area})};
  for (size_t block = 0; block < layers.size(); ++block) {
    for (int layer = 0; layer < layers[block]; ++layer) {
      value.push_back(builder.Chain(value, {channels * area, 128 * area, 128 * area, 32 * area}));
      channels += 32;
    }
    if (block + 1 == layers.size()) break;
    channels /= 2;
    value = {builder.Chain(value, {2 * channels * area, channels * area, channels * area / 4})};
    area /= 4;
  }
  builder.Add(value, channels);
  return std::move(builder).Build();
}

}  // namespace tenon::converter
