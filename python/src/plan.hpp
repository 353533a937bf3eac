// A loaded plan, with what its ports are like at hand: runs look at them every time.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::python {

/// Raises the exception for `status`: tenon.TenonError with `.status`, or OSError, MemoryError.
[[noreturn]] void Raise(tenon_status status, const char* message);

inline void RaiseIf(tenon_status status, const tenon_error& error) {
  if (status != TENON_OK) Raise(status, error.message);
}

/// Shared by Python and by all sessions and streams, so that it outlives them.
class Plan {
 public:
  Plan(const std::string& path, int threads, const std::string& program,
       const std::vector<std::string>& backends);
  ~Plan() { tenon_plan_close(handle_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  [[nodiscard]] const tenon_plan* handle() const { return handle_; }
  [[nodiscard]] const std::vector<tenon_port_info>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<tenon_port_info>& outputs() const { return outputs_; }

 private:
  tenon_plan* handle_ = nullptr;
  std::vector<tenon_port_info> inputs_;
  std::vector<tenon_port_info> outputs_;
};

void BindPlan(pybind11::module_& module);
void BindSession(pybind11::module_& module);
void BindStream(pybind11::module_& module);

}  // namespace tenon::python
