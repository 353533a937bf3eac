#include "converter/import/onnx/count_messages.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <climits>

namespace tenon::converter {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

class Counter {
 public:
  Counter(google::protobuf::io::CodedInputStream& stream, int64_t most)
      : stream_(stream), most_(most) {}

  /// Reads one message, up to the stream's limit. False if it is malformed.
  bool Read(const Descriptor& type, int depth) {
    constexpr int kMostDepth = 100;  // as protobuf's own parser
    if (++count_ > most_) return true;
    if (depth > kMostDepth) return false;
    while (const uint32_t tag = stream_.ReadTag()) {
      if (!ReadField(type, tag, depth)) return false;
      if (count_ > most_) return true;
    }
    return stream_.ConsumedEntireMessage();
  }
  [[nodiscard]] int64_t count() const { return count_; }

 private:
  bool ReadField(const Descriptor& type, uint32_t tag, int depth) {
    const FieldDescriptor* field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    const bool is_message =
        field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE &&
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    if (!is_message) return WireFormatLite::SkipField(&stream_, tag);
    int length = 0;
    if (!stream_.ReadVarintSizeAsInt(&length)) return false;
    const auto limit = stream_.PushLimit(length);
    const bool read = Read(*field->message_type(), depth + 1);
    stream_.PopLimit(limit);
    return read;
  }

  google::protobuf::io::CodedInputStream& stream_;
  int64_t most_;
  int64_t count_ = 0;
};

}  // namespace

std::optional<int64_t> CountMessages(const std::string& bytes, const Descriptor& type,
                                     int64_t most) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(INT_MAX);
  Counter counter(stream, most);
  if (!counter.Read(type, 0)) return std::nullopt;
  return counter.count();
}

}  // namespace tenon::converter
