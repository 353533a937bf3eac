#include "converter/ir/pass.hpp"

namespace tenon::converter {

Status RunPass(const Pass& pass, Graph& graph, std::vector<PassReport>& reports) {
  PassReport& report = reports.emplace_back();
  report.name = pass.name;
  Status status = pass.run(graph, report);
  if (status.ok()) status = Verify(graph);
  if (status.ok()) return status;
  Error error = status.error();
  error.message = fmt::format("pass {}: {}", pass.name, error.message);
  return error;
}

}  // namespace tenon::converter
