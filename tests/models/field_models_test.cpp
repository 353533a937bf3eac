// ONNX networks that people run in the field, against the outputs that ONNX Runtime gave.
#include "tests/support/field_models.hpp"

#include <doctest/doctest.h>

#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

TEST_CASE(
    "Field models: every ONNX network agrees with ONNX Runtime, with fast kernels and plain") {
  const std::filesystem::path models = SharedPath("field-models");
  if (models.empty()) return;
  for (const FieldModel& model : FieldModels()) {
    for (const bool portable : {false, true}) CheckFieldModel(models, model, "x86-64", portable);
  }
}

}  // namespace
}  // namespace tenon::test
