#include "converter/import/operator_list.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "converter/json_text.hpp"

namespace tenon::converter {

std::vector<ImportedOperator> ImportedOperators() {
  std::vector<ImportedOperator> operators = OnnxOperators();
  for (ImportedOperator& one : TfliteOperators()) operators.push_back(std::move(one));
  for (ImportedOperator& one : CaffeOperators()) operators.push_back(std::move(one));
  return operators;
}

std::string OperatorTable(const std::vector<ImportedOperator>& operators) {
  std::string text = "| format | operator | limits | quantized |\n| --- | --- | --- | --- |\n";
  for (const ImportedOperator& one : operators) {
    const bool own = one.domain.empty() || one.domain == "ai.onnx";
    text += fmt::format("| {} | {} | {} | {} |\n", one.format,
                        own ? one.name : one.domain + "." + one.name, one.limits, one.quantized);
  }
  return text;
}

std::string OperatorJson(const std::vector<ImportedOperator>& operators) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ImportedOperator& one : operators) {
    list.push_back({{"format", one.format},
                    {"domain", one.domain},
                    {"operator", one.name},
                    {"limits", one.limits},
                    {"quantized", one.quantized}});
  }
  return JsonText(nlohmann::ordered_json{{"operators", list}}) + "\n";
}

}  // namespace tenon::converter
