// Einsum: operands are joined from the left, two at a time, by a matrix product.
#include <algorithm>
#include <map>
#include <string>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

using Ints = std::vector<int64_t>;

/// A tensor and a letter for each of its dimensions.
struct Term {
  TensorId tensor = kNone;
  std::string labels;
};

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

/// The dimensions of "..." get digits, the last one '0' wherever they stand.
Result<std::string> Expand(std::string text, int32_t rank) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t dots = text.find("...");
  if (dots != std::string::npos) {
    const int32_t count = rank - static_cast<int32_t>(text.size() - 3);
    if (count < 0)
      return InputError("term '{}' has too many letters for {} dimensions", text, rank);
    std::string digits;
    for (int32_t i = count - 1; i >= 0; --i) digits += static_cast<char>('0' + i);
    text.replace(dots, 3, digits);
  }
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  if (!plain) return InputError("term '{}' is not understood", text);
  return text;
}

Result<TensorId> Arrange(Lowering& node, const Term& term, const std::string& order,
                         int output = kIntermediate) {
  std::vector<int32_t> permutation;
  for (char label : order) permutation.push_back(static_cast<int32_t>(term.labels.find(label)));
  return node.Transpose(term.tensor, permutation, output);
}

/// A letter that a term has twice stands for the diagonal.
Result<Term> TakeDiagonals(Lowering& node, Term term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const size_t other = term.labels.find(term.labels[i], i + 1);
    if (other == std::string::npos) continue;
    const auto rank = static_cast<int32_t>(term.labels.size());
    std::vector<int32_t> permutation;
    std::string rest;
    for (int32_t k = 0; k < rank; ++k) {
      if (k == static_cast<int32_t>(i) || k == static_cast<int32_t>(other)) continue;
      permutation.push_back(k);
      rest += term.labels[static_cast<size_t>(k)];
    }
    permutation.push_back(static_cast<int32_t>(i));
    permutation.push_back(static_cast<int32_t>(other));
    TENON_ASSIGN_OR_RETURN(TensorId x, node.Transpose(term.tensor, permutation));
    Ints dims = DimsOf(node.ShapeOf(x));
    const int64_t size = dims.back();
    dims.pop_back();
    if (dims.back() != size) return InputError("'{}' has two sizes", term.labels[i]);
    dims.back() = size * size;
    TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, dims));
    SliceAttributes slice;
    slice.rank = rank - 1;
    for (int32_t k = 0; k < rank - 1; ++k) {
      const bool last = k == rank - 2;
      slice.sizes[k] = static_cast<int32_t>(last ? size : dims[static_cast<size_t>(k)]);
      slice.steps[k] = last && size > 1 ? static_cast<int32_t>(size + 1) : 1;
    }
    TENON_ASSIGN_OR_RETURN(x, node.Slice(x, slice));
    return TakeDiagonals(node, {x, rest + term.labels[i]});
  }
  return term;
}

/// Sums over the letters that nothing else has.
Result<Term> SumOver(Lowering& node, Term term, const std::string& needed) {
  std::vector<int32_t> axes;
  std::string kept;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (Has(needed, term.labels[i])) {
      kept += term.labels[i];
    } else {
      axes.push_back(static_cast<int32_t>(i));
    }
  }
  if (axes.empty()) return term;
  TENON_ASSIGN_OR_RETURN(term.tensor, node.Reduce(ReduceFunction::kSum, term.tensor, axes, false));
  return Term{term.tensor, kept};
}

/// The product of two terms, summed over the letters that both have and nothing after needs.
Result<Term> Join(Lowering& node, const Term& a, const Term& b, const std::string& needed,
                  const std::map<char, int64_t>& sizes) {
  std::string batch;
  std::string summed;
  std::string left;
  std::string right;
  for (char label : a.labels) {
    std::string& kind = !Has(b.labels, label) ? left : (Has(needed, label) ? batch : summed);
    kind += label;
  }
  for (char label : b.labels) {
    if (!Has(a.labels, label)) right += label;
  }
  const auto product = [&](const std::string& labels) {
    int64_t count = 1;
    for (char label : labels) count *= sizes.at(label);
    return count;
  };
  TENON_ASSIGN_OR_RETURN(TensorId x, Arrange(node, a, batch + left + summed));
  TENON_ASSIGN_OR_RETURN(TensorId y, Arrange(node, b, batch + summed + right));
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {product(batch), product(left), product(summed)}));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {product(batch), product(summed), product(right)}));
  TENON_ASSIGN_OR_RETURN(TensorId z,
                         node.Emit(OpKind::kMatMul, {x, y}, Attributes(MatMulAttributes())));
  const std::string labels = batch + left + right;
  Ints dims;
  for (char label : labels) dims.push_back(sizes.at(label));
  TENON_ASSIGN_OR_RETURN(z, node.Reshape(z, dims));
  return Term{z, labels};
}

/// Without an arrow: the letters that occur once, in order, after the dimensions of "...".
std::string ImpliedOutput(const std::vector<Term>& terms) {
  std::map<char, int> count;
  for (const Term& term : terms) {
    for (char label : term.labels) ++count[label];
  }
  std::string digits;
  std::string letters;
  for (const auto& [label, times] : count) {
    if (label >= '0' && label <= '9') digits.insert(digits.begin(), label);
    if (label > '9' && times == 1) letters += label;
  }
  return digits + letters;
}

struct Equation {
  std::vector<Term> terms;
  std::string output;
  std::map<char, int64_t> sizes;
};

Result<Equation> ReadEquation(Lowering& node) {
  const std::string text = node.Text("equation", "");
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, node.Inputs());
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow) + ",";
  Equation equation;
  int32_t most_dots = 0;
  for (const TensorId input : inputs) {
    const size_t comma = left.find(',');
    if (comma == std::string::npos) return InputError("'{}' has too few terms", text);
    const Shape shape = node.ShapeOf(input);
    TENON_ASSIGN_OR_RETURN(const std::string labels, Expand(left.substr(0, comma), shape.rank));
    left.erase(0, comma + 1);
    if (labels.size() != static_cast<size_t>(shape.rank)) {
      return InputError("term '{}' is given {} dimensions", labels, shape.rank);
    }
    for (int32_t i = 0; i < shape.rank; ++i) {
      const char label = labels[static_cast<size_t>(i)];
      if (label <= '9') most_dots = std::max(most_dots, label - '0' + 1);
      const auto [found, is_new] = equation.sizes.emplace(label, shape[i]);
      if (!is_new && found->second != shape[i]) {
        return InputError("'{}' stands for {} and for {}: broadcasting is not supported", label,
                          found->second, shape[i]);
      }
    }
    equation.terms.push_back({input, labels});
  }
  if (!left.empty()) return InputError("'{}' has too many terms", text);
  if (arrow == std::string::npos) {
    equation.output = ImpliedOutput(equation.terms);
    return equation;
  }
  const std::string right = text.substr(arrow + 2);
  auto letters = static_cast<int32_t>(
      std::count_if(right.begin(), right.end(), [](char c) { return c != ' ' && c != '.'; }));
  TENON_ASSIGN_OR_RETURN(equation.output, Expand(right, letters + most_dots));
  for (char label : equation.output) {
    if (!equation.sizes.contains(label)) return InputError("no term has '{}'", label);
    if (equation.output.find(label) != equation.output.rfind(label)) {
      return InputError("the output has '{}' twice", label);
    }
  }
  return equation;
}

Status LowerEinsum(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const Equation equation, ReadEquation(node));
  Term result;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    std::string later = equation.output;
    for (size_t k = i + 1; k < equation.terms.size(); ++k) later += equation.terms[k].labels;
    TENON_ASSIGN_OR_RETURN(Term term, TakeDiagonals(node, equation.terms[i]));
    TENON_ASSIGN_OR_RETURN(term, SumOver(node, term, later + result.labels));
    if (i == 0) {
      result = term;
      continue;
    }
    TENON_ASSIGN_OR_RETURN(result, SumOver(node, result, later + term.labels));
    TENON_ASSIGN_OR_RETURN(result, Join(node, result, term, later, equation.sizes));
  }
  return Arrange(node, result, equation.output, 0).status();
}

constexpr LoweringRow kEinsumRows[] = {
    {"Einsum",
     LowerEinsum,
     {},
     "products of f32 and f16; dimensions of a letter equal, not broadcast; no letter twice in the "
     "output"},
};

}  // namespace

constexpr Span<const LoweringRow> kEinsumLowerings = kEinsumRows;

}  // namespace tenon::converter
