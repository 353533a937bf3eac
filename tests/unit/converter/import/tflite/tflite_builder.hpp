// Builds small TFLite models in tests and imports them.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "converter/import/tflite/tflite_import.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::test {

namespace format = tflite::format;

inline constexpr format::TensorType kF32 = format::TensorType::FLOAT32;
inline constexpr format::TensorType kI32 = format::TensorType::INT32;
inline constexpr format::TensorType kI8 = format::TensorType::INT8;
inline constexpr format::TensorType kU8 = format::TensorType::UINT8;

/// What a tensor's integers stand for.
struct Numbers {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;
  int32_t axis = 0;
};

/// A model under construction: tensors by number, nodes in order. Open for tests that break it.
class TfliteBuilder {
 public:
  int32_t Input(const std::string& name, format::TensorType type, const std::vector<int32_t>& dims,
                const Numbers& numbers = {}, const std::vector<int32_t>& signature = {});
  /// A tensor that a node makes.
  int32_t Value(const std::string& name, format::TensorType type, const std::vector<int32_t>& dims,
                const Numbers& numbers = {});
  int32_t Output(const std::string& name, format::TensorType type, const std::vector<int32_t>& dims,
                 const Numbers& numbers = {});
  int32_t Floats(const std::string& name, const std::vector<int32_t>& dims,
                 const std::vector<float>& values);
  int32_t Ints(const std::string& name, const std::vector<int32_t>& dims,
               const std::vector<int32_t>& values, const Numbers& numbers = {});
  int32_t Bytes(const std::string& name, format::TensorType type, const std::vector<int32_t>& dims,
                const std::vector<int32_t>& values, const Numbers& numbers);

  /// A variable tensor, which keeps its value from one inference to the next.
  int32_t Variable(const std::string& name, const std::vector<int32_t>& dims,
                   format::TensorType type = format::TensorType::FLOAT32,
                   const Numbers& numbers = {});

  /// `options` is a table made with `flat`, of the type given.
  void Node(format::BuiltinOperator op, const std::vector<int32_t>& inputs,
            const std::vector<int32_t>& outputs,
            format::BuiltinOptions type = format::BuiltinOptions::NONE,
            flatbuffers::Offset<void> options = 0);

  /// The same of an operator whose options are in the format's second list.
  void StableNode(format::BuiltinOperator op, const std::vector<int32_t>& inputs,
                  const std::vector<int32_t>& outputs, format::BuiltinOptions2 type,
                  flatbuffers::Offset<void> options);

  /// A further graph, of the nodes that `body` adds; its number, where no second graph is made by
  /// `in_second_graph`. All graphs have the same tensors.
  int32_t Graph(const std::vector<int32_t>& inputs, const std::vector<int32_t>& outputs,
                const std::function<void()>& body);

  /// A custom operator; `options` are the bytes of a FlexBuffer.
  void Custom(const std::string& op, const std::vector<int32_t>& inputs,
              const std::vector<int32_t>& outputs, const std::vector<uint8_t>& options);

  /// The file. Call once.
  [[nodiscard]] std::vector<uint8_t> File();
  /// The imported graph's statements without the `graph` line, or "error: " and the message with
  /// its details, one a line.
  [[nodiscard]] std::string Text(const ImportOptions& options = {});

  flatbuffers::FlatBufferBuilder flat;
  uint32_t graphs = 1;
  bool in_second_graph = false;        ///< where Node puts nodes; that graph has no ports
  uint64_t buffer_offset = 0;          ///< of the last buffer
  std::vector<int32_t> intermediates;  ///< of the next node
  bool sparse = false;                 ///< the last tensor
  std::vector<flatbuffers::Offset<format::SignatureDef>> signatures;

 private:
  int32_t Add(const std::string& name, format::TensorType type, const std::vector<int32_t>& dims,
              const Numbers& numbers, const std::vector<uint8_t>& data,
              const std::vector<int32_t>& signature = {});

  struct Stored {
    std::string name;
    format::TensorType type;
    std::vector<int32_t> dims;
    Numbers numbers;
    uint32_t buffer;
    std::vector<int32_t> signature;
    bool is_variable = false;
  };
  std::vector<Stored> tensors_;
  std::vector<std::vector<uint8_t>> buffers_ = {{}};
  std::vector<flatbuffers::Offset<format::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<format::Operator>> nodes_;
  std::vector<flatbuffers::Offset<format::Operator>> second_nodes_;
  struct Further {
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
    std::vector<flatbuffers::Offset<format::Operator>> nodes;
  };
  std::vector<Further> further_;
  std::vector<int32_t> inputs_;
  std::vector<int32_t> outputs_;
};

/// Imports the bytes of a file.
[[nodiscard]] Result<Graph> ImportBytes(const std::vector<uint8_t>& file,
                                        const ImportOptions& options = {},
                                        const ConstantFolder& fold = {});

/// "error: " and message and details, without the file's name.
[[nodiscard]] std::string TextOf(const Result<Graph>& graph);

}  // namespace tenon::converter::test
