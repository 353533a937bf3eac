// Writes small Caffe models in tests and imports them.
#pragma once

#include <string>
#include <vector>

#include "caffe_subset.pb.h"
#include "converter/import/caffe/caffe_import.hpp"

namespace tenon::converter::test {

/// A network's text, and the weights of its layers.
class CaffeModel {
 public:
  /// `text` follows an input "x" of dims `dims`.
  CaffeModel(const std::vector<int>& dims, const std::string& text);

  /// An array of the layer's; of the dims that files since 2015 give, or of four.
  void Weights(const std::string& layer, const std::vector<float>& values,
               const std::vector<int64_t>& dims = {});

  /// The imported graph, or the error without the files' names.
  [[nodiscard]] Result<Graph> Import(const ImportOptions& options = {}) const;

  /// The imported graph's statements without the `graph` line, or "error: " and the message with
  /// its details, one a line.
  [[nodiscard]] std::string Text(const ImportOptions& options = {}) const;

  std::string text;
  caffe::format::Weights weights;
};

}  // namespace tenon::converter::test
