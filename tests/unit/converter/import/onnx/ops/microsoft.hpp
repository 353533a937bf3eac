// Operators of com.microsoft in tests.
#pragma once

#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::converter::test {

/// Puts the node added last into the domain com.microsoft.
inline ModelBuilder& Microsoft(ModelBuilder& model) {
  if (model.proto.opset_import_size() == 1) {
    onnx::OperatorSetIdProto& import = *model.proto.add_opset_import();
    import.set_domain("com.microsoft");
    import.set_version(1);
  }
  model.last().set_domain("com.microsoft");
  return model;
}

}  // namespace tenon::converter::test
