// What can be imported, for people: one entry for each row of an importer's lowering table.
#pragma once

#include <string>
#include <vector>

namespace tenon::converter {

struct ImportedOperator {
  std::string format;  ///< of the model file: onnx, tflite, caffe
  std::string domain;  ///< ai.onnx, com.microsoft, ...; empty where the format has no domains
  std::string name;
  std::string limits;  ///< what of the operator is refused, in words; empty: nothing
  /// What becomes of it where its tensors are quantized, in words; empty: nothing is said.
  std::string quantized;
};

/// In order of domain and name.
[[nodiscard]] std::vector<ImportedOperator> OnnxOperators();
[[nodiscard]] std::vector<ImportedOperator> TfliteOperators();
[[nodiscard]] std::vector<ImportedOperator> CaffeOperators();

/// Of all formats, one after the other.
[[nodiscard]] std::vector<ImportedOperator> ImportedOperators();

/// The list as a table in Markdown, and as JSON.
[[nodiscard]] std::string OperatorTable(const std::vector<ImportedOperator>& operators);
[[nodiscard]] std::string OperatorJson(const std::vector<ImportedOperator>& operators);

}  // namespace tenon::converter
