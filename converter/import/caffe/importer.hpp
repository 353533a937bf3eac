// Turns a Caffe network into a graph, layer by layer.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "converter/import/caffe/model_file.hpp"
#include "converter/import/import_options.hpp"

namespace tenon::converter::caffe {

namespace format {
class Layer;
class Net;
}  // namespace format

/// State of one import. What it is given outlives it.
class Importer {
 public:
  Importer(const format::Net& net, const WeightsByLayer& weights, const ImportOptions& options);

  /// Fills `graph()`. Call once.
  [[nodiscard]] Status Run();
  [[nodiscard]] Graph& graph() { return graph_; }

  // --- for Layer --------------------------------------------------------------------------------
  /// What the blob holds now: layers may work in place. Errors: nothing has made it.
  [[nodiscard]] Result<TensorId> Value(const std::string& blob);
  void Bind(const std::string& blob, TensorId id) { values_[blob] = id; }
  /// Null if the layer has no weights.
  [[nodiscard]] const std::vector<Blob>* WeightsOf(const std::string& layer) const;

 private:
  [[nodiscard]] Status AddInputs();
  [[nodiscard]] Status AddInput(const std::string& name, std::vector<int64_t> dims);
  [[nodiscard]] Status CheckOptions(const std::vector<std::string>& names) const;
  [[nodiscard]] Status CheckLayers() const;
  [[nodiscard]] Status LowerLayers();
  [[nodiscard]] Status AddOutputs();

  const format::Net& net_;
  const WeightsByLayer& weights_;
  const ImportOptions& options_;
  Graph graph_;
  std::map<std::string, TensorId> values_;
};

}  // namespace tenon::converter::caffe
