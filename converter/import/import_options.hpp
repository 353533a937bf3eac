// Options of the importers of all file formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "converter/ir/pass.hpp"

namespace tenon::converter {

struct ImportOptions {
  /// Value for a symbolic or free first dimension of every input (`--batch`); 0: unchanged.
  int64_t batch = 0;
  /// Full shape per input name (`--shape`).
  std::map<std::string, std::vector<int64_t>> shapes;
  /// Inputs to turn into constants (`--freeze`): dtype, shape and raw row-major bytes.
  struct Frozen {
    DType dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Frozen> freeze;
  /// Weights of a Caffe network (`--caffemodel`); empty: beside its text.
  std::filesystem::path caffemodel;
  /// Where align_corners of ONNX's Resize puts the last corner if a scale gives no whole size
  /// (`--align-corners`): at the last element instead of where ONNX's text has it.
  bool corners_by_sizes = false;
  /// Gets what the user should know of the model though it can be imported. May be null.
  std::vector<std::string>* warnings = nullptr;
  /// Gets the files beside the model that were read (external data). May be null.
  std::vector<std::filesystem::path>* files_read = nullptr;
  /// Bytes that constants may take during conversion (`--max-memory`); 0: see ConstantLimit.
  int64_t max_memory = 0;
};

}  // namespace tenon::converter
