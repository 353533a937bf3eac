#include "converter/ir/pass.hpp"

namespace tenon::converter {

Status RunPass(const Pass& pass, Graph& graph, PassContext& context,
               std::vector<PassReport>& reports) {
  context.report = {pass.name, 0, {}};
  Status status = pass.run(graph, context);
  if (status.ok()) status = Verify(graph);
  reports.push_back(std::move(context.report));
  if (status.ok() || status.error().kind == ErrorKind::kUsage) return status;
  Error error = status.error();
  error.message = fmt::format("pass {}: {}", pass.name, error.message);
  return error;
}

}  // namespace tenon::converter
