// The two files of a Caffe model.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter::caffe {

namespace format {
class Net;
}

/// An array of a layer's weights.
struct Blob {
  std::vector<int64_t> dims;
  std::vector<float> values;  ///< as many as the dims say
};

using WeightsByLayer = std::map<std::string, std::vector<Blob>>;

/// Errors (kInput): not readable, no text of a network (says where), fields that are not known and
/// may matter, the format before 2014.
[[nodiscard]] Status ReadNet(const std::filesystem::path& path, format::Net& net);

/// Errors (kInput): not readable, over 2 GB, no weights of Caffe, arrays of another size than
/// their dims say.
[[nodiscard]] Result<WeightsByLayer> ReadWeights(const std::filesystem::path& path);

}  // namespace tenon::converter::caffe
