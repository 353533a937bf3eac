// TFLite files through the importer: a graph or an error. Changes are made of what files say as
// much as of their bytes, so that operators meet tensors, types and constants of any kind.
#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "converter/fold/fold_tensors.hpp"
#include "converter/import/tflite/tflite_import.hpp"
#include "fuzz_tflite_generated.h"
#include "tests/fuzz/targets/edge_values.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"
#include "tests/fuzz/targets/import_options.hpp"

namespace {

namespace format = tenon::fuzz::tflite;

/// Types of unions without a value, which files may have and FlatBuffers does not write.
void MendUnions(format::SubGraphT& graph) {
  for (auto& op : graph.operators) {
    if (op->builtin_options.value == nullptr) op->builtin_options.Reset();
  }
  for (auto& tensor : graph.tensors) {
    if (tensor->sparsity == nullptr) continue;
    for (auto& dimension : tensor->sparsity->dim_metadata) {
      if (dimension == nullptr) dimension = std::make_unique<format::DimensionMetadataT>();
      if (dimension->array_segments.value == nullptr) dimension->array_segments.Reset();
      if (dimension->array_indices.value == nullptr) dimension->array_indices.Reset();
    }
  }
}

/// Null if the bytes are no file, or one without an operator or a tensor to change.
std::unique_ptr<format::ModelT> Read(const uint8_t* data, size_t bytes) {
  // Aligned, whatever libFuzzer has.
  const std::unique_ptr<uint64_t[]> copy(new uint64_t[bytes / 8 + 1]);
  std::memcpy(copy.get(), data, bytes);
  const auto* const file = reinterpret_cast<const uint8_t*>(copy.get());
  flatbuffers::Verifier verifier(file, bytes, 64, 100000);
  if (bytes < 8 || !verifier.VerifyBuffer<format::Model>(format::ModelIdentifier())) return nullptr;
  std::unique_ptr<format::ModelT> model(format::GetModel(file)->UnPack());
  if (model->subgraphs.empty() || model->subgraphs[0] == nullptr) return nullptr;
  for (const auto& graph : model->subgraphs) {
    if (graph == nullptr || graph->operators.empty() || graph->tensors.empty()) return nullptr;
    if (std::count(graph->operators.begin(), graph->operators.end(), nullptr) > 0) return nullptr;
    if (std::count(graph->tensors.begin(), graph->tensors.end(), nullptr) > 0) return nullptr;
    MendUnions(*graph);
  }
  const auto& codes = model->operator_codes;
  if (codes.empty() || std::count(codes.begin(), codes.end(), nullptr) > 0) return nullptr;
  if (std::count(model->buffers.begin(), model->buffers.end(), nullptr) > 0) return nullptr;
  if (std::count(model->signature_defs.begin(), model->signature_defs.end(), nullptr) > 0) {
    return nullptr;
  }
  return model;
}

size_t Store(const format::ModelT& model, uint8_t* data, size_t most) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::Model::Pack(builder, &model), format::ModelIdentifier());
  if (builder.GetSize() > most) return 0;
  std::memcpy(data, builder.GetBufferPointer(), builder.GetSize());
  return builder.GetSize();
}

class ModelMutator {
 public:
  ModelMutator(format::ModelT& model, std::mt19937& random) : model_(model), random_(random) {}

  void Change() {
    format::SubGraphT& graph = *Pick(model_.subgraphs);
    switch (random_() % 8) {
      case 0:
        return ChangeCode(*Pick(model_.operator_codes));
      case 1:
      case 2:
        return ChangeOperator(*Pick(graph.operators), graph);
      case 3:
        if (!model_.buffers.empty()) ChangeBuffer(*Pick(model_.buffers));
        return;
      case 4:
        return ChangeNumbers(random_() % 2 == 0 ? graph.inputs : graph.outputs,
                             static_cast<int32_t>(graph.tensors.size()));
      default:
        return ChangeTensor(*Pick(graph.tensors));
    }
  }

 private:
  template <typename T>
  T& Pick(std::vector<T>& values) {
    return values[random_() % values.size()];
  }
  int32_t Edge(int32_t now) { return static_cast<int32_t>(tenon::fuzz::EdgeNumber(random_, now)); }

  /// A list with another number, one more, one less, or two that change places; `below`: what most
  /// of them are below.
  void ChangeNumbers(std::vector<int32_t>& list, int32_t below) {
    const auto number = [&] {
      if (below <= 0 || random_() % 8 == 0) return Edge(list.empty() ? 0 : Pick(list));
      return static_cast<int32_t>(random_() % static_cast<unsigned>(below + 1)) - 1;
    };
    if (list.empty() || random_() % 4 == 0) {
      list.push_back(number());
    } else if (random_() % 4 == 0) {
      list.erase(list.begin() + static_cast<ptrdiff_t>(random_() % list.size()));
    } else if (random_() % 3 == 0) {
      std::swap(Pick(list), Pick(list));
    } else {
      Pick(list) = number();
    }
  }

  void ChangeCode(format::OperatorCodeT& code) {
    const auto operators = static_cast<unsigned>(format::BuiltinOperator::MAX) + 1;
    const auto number = static_cast<int>(random_() % operators);
    code.builtin_code = static_cast<format::BuiltinOperator>(number);
    code.deprecated_builtin_code = static_cast<int8_t>(std::min(number, 127));
    if (random_() % 4 == 0) code.version = Edge(code.version);
  }

  void ChangeOperator(format::OperatorT& op, format::SubGraphT& graph) {
    const auto tensors = static_cast<int32_t>(graph.tensors.size());
    switch (random_() % 8) {
      case 0:
        op.opcode_index = static_cast<uint32_t>(random_() % model_.operator_codes.size());
        return;
      case 1:
        return ChangeNumbers(op.outputs, tensors);
      case 2:
        return ChangeNumbers(op.intermediates, tensors);
      case 3:
        if (graph.operators.size() > 1) std::swap(Pick(graph.operators), Pick(graph.operators));
        return;
      case 4: {
        std::string bytes(op.custom_options.begin(), op.custom_options.end());
        tenon::fuzz::ChangeBytes(bytes, random_);
        op.custom_options.assign(bytes.begin(), bytes.end());
        return;
      }
      default:
        return ChangeNumbers(op.inputs, tensors);
    }
  }

  void ChangeBuffer(format::BufferT& buffer) {
    std::string bytes(buffer.data.begin(), buffer.data.end());
    tenon::fuzz::ChangeBytes(bytes, random_);
    buffer.data.assign(bytes.begin(), bytes.end());
  }

  void ChangeTensor(format::TensorT& tensor) {
    switch (random_() % 10) {
      case 0:
      case 1:
        tensor.type = static_cast<format::TensorType>(random_() % 19);
        return;
      case 2:
        return ChangeNumbers(tensor.shape_signature, 0);
      case 3:
        tensor.buffer = static_cast<uint32_t>(random_() % (model_.buffers.size() + 1));
        return;
      case 4:
        tensor.is_variable = !tensor.is_variable;
        return;
      case 5:
        tensor.shape = Pick(Pick(model_.subgraphs)->tensors)->shape;
        return;
      case 6:
      case 7:
        return ChangeQuantization(tensor);
      default:
        return ChangeNumbers(tensor.shape, 0);
    }
  }

  void ChangeQuantization(format::TensorT& tensor) {
    if (tensor.quantization == nullptr) {
      tensor.quantization = std::make_unique<format::QuantizationParametersT>();
      tensor.quantization->scale = {0.5F};
      tensor.quantization->zero_point = {0};
      return;
    }
    format::QuantizationParametersT& numbers = *tensor.quantization;
    switch (random_() % 4) {
      case 0:
        numbers.scale.resize(random_() % 5, static_cast<float>(tenon::fuzz::EdgeFloat(random_)));
        return;
      case 1:
        numbers.zero_point.resize(random_() % 5, tenon::fuzz::EdgeNumber(random_, 0));
        return;
      case 2:
        numbers.quantized_dimension = Edge(numbers.quantized_dimension);
        return;
      default:
        if (!numbers.scale.empty()) {
          Pick(numbers.scale) = static_cast<float>(tenon::fuzz::EdgeFloat(random_));
        }
        if (!numbers.zero_point.empty() && random_() % 2 == 0) {
          int64_t& zero = Pick(numbers.zero_point);
          zero = tenon::fuzz::EdgeNumber(random_, zero);
        }
        return;
    }
  }

  format::ModelT& model_;
  std::mt19937& random_;
};

void Shift(std::vector<int32_t>& tensors, size_t by) {
  for (int32_t& tensor : tensors) {
    if (tensor >= 0 && tensor < (1 << 24)) tensor += static_cast<int32_t>(by);
  }
}

/// Puts what the first graph of `other` says behind the first graph of `model`.
void Graft(format::ModelT& model, format::ModelT& other) {
  format::SubGraphT& into = *model.subgraphs[0];
  format::SubGraphT& from = *other.subgraphs[0];
  const size_t tensors = into.tensors.size();
  for (auto& tensor : from.tensors) {
    tensor->buffer += static_cast<uint32_t>(model.buffers.size());
    tensor->name += "2";
    into.tensors.push_back(std::move(tensor));
  }
  for (auto& op : from.operators) {
    op->opcode_index += static_cast<uint32_t>(model.operator_codes.size());
    Shift(op->inputs, tensors);
    Shift(op->outputs, tensors);
    Shift(op->intermediates, tensors);
    into.operators.push_back(std::move(op));
  }
  Shift(from.inputs, tensors);
  Shift(from.outputs, tensors);
  into.inputs.insert(into.inputs.end(), from.inputs.begin(), from.inputs.end());
  into.outputs.insert(into.outputs.end(), from.outputs.begin(), from.outputs.end());
  std::move(other.buffers.begin(), other.buffers.end(), std::back_inserter(model.buffers));
  std::move(other.operator_codes.begin(), other.operator_codes.end(),
            std::back_inserter(model.operator_codes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const tenon::fuzz::FuzzFile file(data, bytes);
  (void)tenon::converter::ImportTflite(file.path(), tenon::fuzz::FuzzImportOptions(),
                                       tenon::converter::FoldTensors);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t bytes, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  if (random() % 3 == 0) return LLVMFuzzerMutate(data, bytes, most);
  const std::unique_ptr<format::ModelT> model = Read(data, bytes);
  if (model == nullptr) return LLVMFuzzerMutate(data, bytes, most);
  ModelMutator mutator(*model, random);
  for (size_t count = 1 + random() % 3; count > 0; --count) mutator.Change();
  const size_t changed = Store(*model, data, most);
  return changed > 0 ? changed : LLVMFuzzerMutate(data, bytes, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_bytes,
                                            const uint8_t* second, size_t second_bytes,
                                            uint8_t* out, size_t most, unsigned /*seed*/) {
  const std::unique_ptr<format::ModelT> model = Read(first, first_bytes);
  const std::unique_ptr<format::ModelT> other = Read(second, second_bytes);
  if (model == nullptr || other == nullptr) return 0;
  Graft(*model, *other);
  constexpr size_t kMostJoined = 16384;  // joined ones are joined again
  return Store(*model, out, std::min(most, kMostJoined));
}
