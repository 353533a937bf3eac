#include "converter/solve/place/place_csv.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tenon::converter {
namespace {

enum Column : size_t { kId, kLower, kUpper, kSize, kAlignment, kOffset, kColumns };
constexpr std::array<std::string_view, kColumns> kColumnNames = {"id",   "lower",     "upper",
                                                                 "size", "alignment", "offset"};
constexpr size_t kRequiredColumns = kAlignment;

using ColumnIndices = std::array<std::optional<size_t>, kColumns>;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// Returns the text of a quoted field, from after its opening quote; `line` then begins after the
/// closing one. Returns none if it is not closed.
std::optional<std::string> TakeQuoted(std::string_view& line) {
  std::string field;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '"') {
      field += line[i];
    } else if (i + 1 < line.size() && line[i + 1] == '"') {
      field += line[i++];
    } else {
      line.remove_prefix(i + 1);
      return field;
    }
  }
  return std::nullopt;
}

Result<std::vector<std::string>> SplitFields(std::string_view line, size_t line_number) {
  std::vector<std::string> fields;
  while (true) {
    line = Trim(line);
    if (!line.empty() && line.front() == '"') {
      line.remove_prefix(1);
      auto field = TakeQuoted(line);
      if (!field) return InputError("line {}: a quoted field is not closed", line_number);
      fields.push_back(std::move(*field));
      line = Trim(line);
      if (line.empty()) return fields;
      if (line.front() != ',') {
        return InputError("line {}: a comma must follow a quoted field", line_number);
      }
      line.remove_prefix(1);
      continue;
    }
    const size_t comma = line.find(',');
    fields.emplace_back(Trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

Result<ColumnIndices> ParseHeader(const std::vector<std::string>& names, size_t line_number) {
  ColumnIndices indices;
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t column = 0; column < kColumns; ++column) {
      if (names[i] != kColumnNames[column]) continue;
      if (indices[column]) {
        return InputError("line {}: column '{}' appears twice", line_number, names[i]);
      }
      indices[column] = i;
    }
  }
  for (size_t column = 0; column < kRequiredColumns; ++column) {
    if (indices[column]) continue;
    return InputError("line {}: the header has no column '{}'; it needs id, lower, upper and size",
                      line_number, kColumnNames[column]);
  }
  return indices;
}

Result<int64_t> ParseNumber(const std::string& text, Column column, size_t line_number) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {
    return InputError("line {}: {} '{}' does not fit into 64 bits", line_number,
                      kColumnNames[column], text);
  }
  if (error != std::errc() || stop != end) {
    return InputError("line {}: {} '{}' is not a whole number", line_number, kColumnNames[column],
                      text);
  }
  return value;
}

Status CheckBuffer(const Buffer& buffer, size_t line_number) {
  if (buffer.size < 0) {
    return InputError("line {}: size {} is negative", line_number, buffer.size);
  }
  if (buffer.upper < buffer.lower) {
    return InputError("line {}: upper {} is below lower {}", line_number, buffer.upper,
                      buffer.lower);
  }
  if (buffer.alignment < 1) {
    return InputError("line {}: alignment {} is below 1", line_number, buffer.alignment);
  }
  if (buffer.offset && *buffer.offset < 0) {
    return InputError("line {}: offset {} is negative", line_number, *buffer.offset);
  }
  if (buffer.offset && *buffer.offset % buffer.alignment != 0) {
    return InputError("line {}: offset {} is not a multiple of alignment {}", line_number,
                      *buffer.offset, buffer.alignment);
  }
  return {};
}

Result<Buffer> ParseBuffer(const std::vector<std::string>& fields, const ColumnIndices& columns,
                           size_t line_number) {
  std::array<std::optional<int64_t>, kColumns> numbers;
  for (size_t column = kLower; column < kColumns; ++column) {
    if (!columns[column]) continue;
    const std::string& field = fields[*columns[column]];
    if (field.empty() && column >= kRequiredColumns) continue;
    TENON_ASSIGN_OR_RETURN(numbers[column],
                           ParseNumber(field, static_cast<Column>(column), line_number));
  }
  Buffer buffer;
  buffer.lower = *numbers[kLower];
  buffer.upper = *numbers[kUpper];
  buffer.size = *numbers[kSize];
  buffer.alignment = numbers[kAlignment].value_or(1);
  buffer.offset = numbers[kOffset];
  TENON_RETURN_IF_ERROR(CheckBuffer(buffer, line_number));
  return buffer;
}

std::string QuoteIfNeeded(const std::string& field) {
  const bool blank_ends = !field.empty() && Trim(field).size() != field.size();
  if (!blank_ends && field.find_first_of(",\"") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace

Result<BufferTable> ParseBufferCsv(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  BufferTable table;
  std::optional<ColumnIndices> columns;
  size_t column_count = 0;
  std::unordered_map<std::string, size_t> line_of_id;
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const size_t line_end = text.find('\n');
    const std::string_view line = Trim(text.substr(0, line_end));
    text.remove_prefix(line_end == std::string_view::npos ? text.size() : line_end + 1);
    if (line.empty()) continue;
    TENON_ASSIGN_OR_RETURN(const std::vector<std::string> fields, SplitFields(line, line_number));
    if (!columns) {
      TENON_ASSIGN_OR_RETURN(columns, ParseHeader(fields, line_number));
      column_count = fields.size();
      continue;
    }
    if (fields.size() != column_count) {
      return InputError("line {}: {} fields where the header has {}", line_number, fields.size(),
                        column_count);
    }
    TENON_ASSIGN_OR_RETURN(const Buffer buffer, ParseBuffer(fields, *columns, line_number));
    const std::string& id = fields[*(*columns)[kId]];
    const auto [known, is_new] = line_of_id.emplace(id, line_number);
    if (!is_new) {
      return InputError("line {}: id '{}' was already given in line {}", line_number, id,
                        known->second);
    }
    table.ids.push_back(id);
    table.buffers.push_back(buffer);
  }
  if (!columns) return InputError("line 1: no header; it needs id, lower, upper and size");
  return table;
}

std::string FormatPlacementCsv(const BufferTable& table, const std::vector<int64_t>& offsets) {
  bool aligned = false;
  for (const Buffer& buffer : table.buffers) aligned |= buffer.alignment != 1;
  std::string text =
      aligned ? "id,lower,upper,size,alignment,offset\n" : "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < table.buffers.size(); ++i) {
    const Buffer& buffer = table.buffers[i];
    text += fmt::format("{},{},{},{},", QuoteIfNeeded(table.ids[i]), buffer.lower, buffer.upper,
                        buffer.size);
    if (aligned) text += fmt::format("{},", buffer.alignment);
    text += fmt::format("{}\n", offsets[i]);
  }
  return text;
}

}  // namespace tenon::converter
