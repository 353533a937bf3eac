#include "sdk/tools/diff_compare.hpp"

#include <map>
#include <utility>

namespace tenon::tool {
namespace {

Distance Compare(const Elements& all_got, const Elements& all_expected) {
  Distance distance;
  double signal = 0;
  double noise = 0;
  double largest = -1;
  for (size_t i = 0; i < all_got.size(); ++i) {
    const double got = all_got[i];
    const double expected = all_expected[i];
    const bool same = got == expected || (std::isnan(got) && std::isnan(expected));
    const double raw = same ? 0 : std::abs(got - expected);
    const double difference = std::isnan(raw) ? INFINITY : raw;
    if (std::isfinite(expected)) signal += expected * expected;
    noise += difference * difference;
    distance.different += same ? 0 : 1;
    if (difference <= largest) continue;
    largest = difference;
    distance.worst = i;
    distance.got = got;
    distance.expected = expected;
  }
  if (noise > 0) distance.snr_db = signal > 0 ? 10 * std::log10(signal / noise) : -INFINITY;
  return distance;
}

std::optional<Row> RowOf(const SeenTensor& got, const SeenTensor& expected, double snr_db) {
  if (got.dtype != expected.dtype || got.shape != expected.shape) return std::nullopt;
  Row row{got.name, got.op, {}, false};
  row.distance = Compare(Elements(got.dtype, got.bytes), Elements(expected.dtype, expected.bytes));
  const bool is_float = got.dtype <= TENON_F64;
  row.parts = is_float ? row.distance.snr_db < snr_db : row.distance.different > 0;
  return row;
}

using ByName = std::map<std::string, const SeenTensor*>;

ByName NamesOf(const std::vector<SeenTensor>& tensors) {
  ByName by_name;
  for (const SeenTensor& tensor : tensors) by_name[tensor.name] = &tensor;
  return by_name;
}

}  // namespace

const Row* Comparison::First() const {
  for (const Row& row : rows) {
    if (row.parts) return &row;
  }
  return nullptr;
}

Comparison CompareAll(const SeenRun& a, const std::vector<SeenTensor>& tensors,
                      const std::vector<SeenTensor>& outputs, double snr_db) {
  Comparison comparison;
  const auto add = [&](const SeenTensor& tensor, const ByName& others, bool is_output) {
    const auto found = others.find(tensor.name);
    std::optional<Row> row;
    if (found != others.end()) row = RowOf(tensor, *found->second, snr_db);
    if (!row) {
      ++comparison.not_compared;
      return;
    }
    if (is_output) row->op.reset();
    comparison.rows.push_back(std::move(*row));
  };
  const ByName expected = NamesOf(tensors);
  for (const SeenTensor& tensor : a.tensors) add(tensor, expected, false);
  const ByName expected_outputs = NamesOf(outputs);
  for (const SeenTensor& tensor : a.outputs) add(tensor, expected_outputs, true);
  return comparison;
}

}  // namespace tenon::tool
