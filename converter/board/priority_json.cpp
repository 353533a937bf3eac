#include "converter/board/priority_json.hpp"

#include "converter/board/object_reader.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

using OrderedJson = nlohmann::ordered_json;

void ReadConstraints(ObjectReader& reader, PriorityConstraints& when) {
  reader.Optional("dtypes", when.dtypes);
  reader.Optional("rank", when.rank);
  reader.Optional("min_kernel", when.min_kernel);
  reader.Optional("max_kernel", when.max_kernel);
  reader.Optional("min_channels", when.min_channels);
  reader.Optional("max_channels", when.max_channels);
  reader.Optional("min_elements", when.min_elements);
  reader.Optional("max_elements", when.max_elements);
  for (const std::string& dtype : when.dtypes) {
    if (!IsDTypeName(dtype)) reader.Fail(fmt::format("has the unknown dtype '{}'", dtype));
  }
  reader.FailIf(
      when.rank < -1 || when.min_kernel < 0 || when.min_channels < 0 || when.min_elements < 0,
      "has a bound below 0");
  reader.FailIf(when.min_kernel > when.max_kernel || when.min_channels > when.max_channels ||
                    when.min_elements > when.max_elements,
                "has a lower bound above the upper one");
}

/// Adds the bound unless it equals the value that stands for none.
template <typename T>
void AddBound(OrderedJson& when, const char* key, T bound, T none) {
  if (bound != none) when[key] = bound;
}

}  // namespace

void ReadPriority(ObjectReader& reader, Priority& row) {
  reader.Required("backend", row.backend);
  reader.Required("op", row.op);
  reader.Required("priority", row.priority);
  reader.OptionalObject("when", [&](ObjectReader& when) { ReadConstraints(when, row.when); });
  reader.FailIf(row.priority < 1, "has a 'priority' below 1");
  if (row.op != "*" && FindOpRow(row.op.c_str()) == nullptr) {
    reader.Fail(fmt::format("has the unknown op kind '{}' in 'op'", row.op));
  }
}

OrderedJson ToJson(const Priority& row) {
  const PriorityConstraints none;
  OrderedJson when = OrderedJson::object();
  if (!row.when.dtypes.empty()) when["dtypes"] = row.when.dtypes;
  AddBound(when, "rank", row.when.rank, none.rank);
  AddBound(when, "min_kernel", row.when.min_kernel, none.min_kernel);
  AddBound(when, "max_kernel", row.when.max_kernel, none.max_kernel);
  AddBound(when, "min_channels", row.when.min_channels, none.min_channels);
  AddBound(when, "max_channels", row.when.max_channels, none.max_channels);
  AddBound(when, "min_elements", row.when.min_elements, none.min_elements);
  AddBound(when, "max_elements", row.when.max_elements, none.max_elements);
  OrderedJson json = {{"backend", row.backend}, {"op", row.op}, {"priority", row.priority}};
  if (!when.empty()) json["when"] = when;
  return json;
}

}  // namespace tenon::converter
