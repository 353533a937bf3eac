// Defines what the printer and the parser of text.hpp must agree on.
#pragma once

#include <cctype>
#include <string_view>

#include "runtime/base/shape.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::converter {

/// Returns true for characters that need no quotes in names.
[[nodiscard]] inline bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_./$-").find(c) != std::string_view::npos;
}

/// Returns the field with the length of the op's lists, or null if they have a fixed length.
[[nodiscard]] inline const AttributeField* FindLengthField(const OpRow& row) {
  for (const AttributeField& field : GetOpHostRow(row.kind).text.fields) {
    const std::string_view name = field.name;
    if ((name == "rank" || name == "steps") && field.count == 1) return &field;
  }
  return nullptr;
}

/// Returns true if the field, of an op that has such a length, is a list of it.
[[nodiscard]] inline bool IsListOfLength(const AttributeField& field) {
  return field.count == kMaxRank || field.count == kMostElementwiseSteps;
}

}  // namespace tenon::converter
