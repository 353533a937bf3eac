#include "converter/report/decisions.hpp"

namespace tenon::converter {
namespace {

using Json = nlohmann::ordered_json;

Json OutputsJson(const QuantizationReport& report) {
  Json outputs = Json::array();
  for (size_t i = 0; i < report.outputs.size() && i < report.accuracy.outputs.size(); ++i) {
    const SignalToNoise& output = report.accuracy.outputs[i];
    outputs.push_back({{"name", report.outputs[i]},
                       {"snr_db", output.Decibel()},
                       {"largest_difference", output.largest_error}});
  }
  return outputs;
}

Json LayersJson(const QuantizationReport& report) {
  Json layers = Json::array();
  for (const QuantizedLayer& layer : report.layers) {
    layers.push_back({{"op", layer.op},
                      {"kind", layer.kind},
                      {"integer", layer.integer},
                      {"reason", layer.reason},
                      {"snr_db", layer.decibel ? Json(*layer.decibel) : Json(nullptr)}});
  }
  return layers;
}

Json TopClassJson(const Accuracy& accuracy) {
  if (accuracy.rows == 0) return nullptr;
  return {{"rows", accuracy.rows}, {"same_as_float", accuracy.same_class}};
}

Json LabelsJson(const Accuracy& accuracy) {
  if (accuracy.labelled == 0) return nullptr;
  return {{"count", accuracy.labelled},
          {"float_right", accuracy.float_right},
          {"right", accuracy.right}};
}

}  // namespace

Json QuantizationJson(const std::optional<QuantizationReport>& report) {
  if (!report) return nullptr;
  return {{"samples", report->samples},
          {"judged", report->judged},
          {"equalized_by", Name(report->equalized)},
          {"ranges", Name(report->ranges)},
          {"integer_layers", report->integer_layers},
          {"float_layers", report->float_layers},
          {"kept_for_accuracy", report->kept_for_accuracy},
          {"goal", {{"snr_db", report->goal.decibel}, {"lost_share", report->goal.lost_share}}},
          {"reached", report->accuracy.Reaches(report->goal)},
          {"worst_snr_db", report->accuracy.decibel},
          {"outputs", OutputsJson(*report)},
          {"top1", TopClassJson(report->accuracy)},
          {"labels", LabelsJson(report->accuracy)},
          {"layers", LayersJson(*report)}};
}

}  // namespace tenon::converter
