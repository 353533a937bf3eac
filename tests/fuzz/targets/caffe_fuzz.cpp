// Caffe networks: the text, a line of dashes, the weights.
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <cstring>
#include <string>

#include "caffe_subset.pb.h"
#include "converter/import/caffe/caffe_import.hpp"
#include "converter/import/operator_list.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"
#include "tests/fuzz/targets/import_options.hpp"
#include "tests/fuzz/targets/message_mutator.hpp"

namespace {

namespace format = tenon::converter::caffe::format;

constexpr char kLine[] = "\n--------\n";

/// The two files of a network in one input.
struct Parts {
  Parts(const uint8_t* data, size_t bytes) {
    const auto* found = static_cast<const uint8_t*>(memmem(data, bytes, kLine, sizeof kLine - 1));
    text_bytes = found == nullptr ? bytes : static_cast<size_t>(found - data);
    const size_t begin = found == nullptr ? bytes : text_bytes + sizeof kLine - 1;
    weights = data + begin;
    weights_bytes = bytes - begin;
  }
  size_t text_bytes;
  const uint8_t* weights;
  size_t weights_bytes;
};

/// Errors are not told: nearly every input has some.
class Silent : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int /*line*/, int /*column*/, const std::string& /*message*/) override {}
};

struct Network {
  format::Net net;
  format::Weights weights;
};

bool Parse(Network& network, const uint8_t* data, size_t bytes) {
  const Parts parts(data, bytes);
  Silent silent;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&silent);
  parser.SetRecursionLimit(16);
  const std::string text(reinterpret_cast<const char*>(data), parts.text_bytes);
  return parser.ParseFromString(text, &network.net) && network.net.layer_size() > 0 &&
         network.weights.ParseFromArray(parts.weights, static_cast<int>(parts.weights_bytes));
}

/// Bytes written, 0 where there is no room.
size_t Store(const Network& network, uint8_t* data, size_t most) {
  std::string file;
  if (!google::protobuf::TextFormat::PrintToString(network.net, &file)) return 0;
  file += kLine;
  file += network.weights.SerializeAsString();
  if (file.size() > most) return 0;
  std::memcpy(data, file.data(), file.size());
  return file.size();
}

/// Another kind of layer, or another layer's output as input.
void ChangeLayer(format::Net& net, std::mt19937& random) {
  static const auto* const kinds =
      new std::vector<tenon::converter::ImportedOperator>(tenon::converter::CaffeOperators());
  const auto any = [&] {
    return static_cast<int>(random() % static_cast<unsigned>(net.layer_size()));
  };
  format::Layer& layer = *net.mutable_layer(any());
  if (random() % 2 == 0) {
    layer.set_type((*kinds)[random() % kinds->size()].name);
    return;
  }
  const format::Layer& other = net.layer(any());
  if (other.top_size() == 0) return;
  if (layer.bottom_size() == 0 || random() % 4 == 0) {
    layer.add_bottom(other.top(0));
  } else {
    const auto bottoms = static_cast<unsigned>(layer.bottom_size());
    layer.set_bottom(static_cast<int>(random() % bottoms), other.top(0));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  const Parts parts(data, bytes);
  const tenon::fuzz::FuzzFile text_file(data, parts.text_bytes);
  const tenon::fuzz::FuzzFile weights_file(parts.weights, parts.weights_bytes);
  tenon::converter::ImportOptions options = tenon::fuzz::FuzzImportOptions();
  options.caffemodel = weights_file.path();
  (void)tenon::converter::ImportCaffe(text_file.path(), options);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t bytes, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  Network network;
  if (random() % 3 == 0 || !Parse(network, data, bytes)) return LLVMFuzzerMutate(data, bytes, most);
  tenon::fuzz::MessageMutator mutator(random);
  for (size_t count = 1 + random() % 3; count > 0; --count) {
    const auto which = random() % 4;
    if (which == 0 && network.net.layer_size() > 0) {
      ChangeLayer(network.net, random);
    } else if (which == 1) {
      mutator.Change(network.weights);
    } else {
      mutator.Change(network.net);
    }
  }
  const size_t changed = Store(network, data, most);
  return changed > 0 ? changed : LLVMFuzzerMutate(data, bytes, most);
}

/// The layers of both: those of small networks often have the same names.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_bytes,
                                            const uint8_t* second, size_t second_bytes,
                                            uint8_t* out, size_t most, unsigned /*seed*/) {
  Network network;
  Network other;
  if (!Parse(network, first, first_bytes) || !Parse(other, second, second_bytes)) return 0;
  network.net.MergeFrom(other.net);
  network.weights.MergeFrom(other.weights);
  constexpr size_t kMostJoined = 8192;  // joined ones are joined again
  return Store(network, out, most < kMostJoined ? most : kMostJoined);
}
