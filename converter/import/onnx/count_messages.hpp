// How many messages a protobuf file would be parsed to: an empty one takes two bytes of the file
// and a hundred times as much of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace google::protobuf {
class Descriptor;
}

namespace tenon::converter {

/// Counts the messages in `bytes`, which hold one of type `type`, without parsing them: reads tags
/// and lengths alone. Counting stops above `most`. Returns nothing if the bytes are malformed.
[[nodiscard]] std::optional<int64_t> CountMessages(const std::string& bytes,
                                                   const google::protobuf::Descriptor& type,
                                                   int64_t most);

}  // namespace tenon::converter
