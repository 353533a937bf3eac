#include "python/src/plan.hpp"

#include <pybind11/stl.h>

#include <memory>

#include "python/src/arrays.hpp"
#include "python/src/values.hpp"

namespace py = pybind11;

namespace tenon::python {
namespace {

py::list Programs(const Plan& plan) {
  py::list programs;
  for (size_t i = 0; i < tenon_plan_program_count(plan.handle()); ++i) {
    tenon_program_info info{};
    if (tenon_plan_program(plan.handle(), i, &info) == TENON_OK) programs.append(Name(info.name));
  }
  return programs;
}

py::list Ops(const Plan& plan) {
  py::list ops;
  for (size_t i = 0; i < tenon_plan_op_count(plan.handle()); ++i) {
    tenon_op_info info{};
    if (tenon_plan_op(plan.handle(), i, &info) != TENON_OK) continue;
    ops.append(py::make_tuple(Name(info.name), info.kind, info.backend, Name(info.kernel)));
  }
  return ops;
}

py::dict Arenas(const Plan& plan) {
  py::dict arenas;
  for (size_t i = 0; i < tenon_plan_arena_count(plan.handle()); ++i) {
    tenon_arena_info info{};
    if (tenon_plan_arena(plan.handle(), i, &info) == TENON_OK)
      arenas[Name(info.space)] = info.bytes;
  }
  return arenas;
}

py::list Ports(const std::vector<tenon_port_info>& ports) {
  py::list list;
  for (const tenon_port_info& port : ports) {
    py::tuple shape(port.rank);
    for (int i = 0; i < port.rank; ++i) shape[static_cast<size_t>(i)] = port.dims[i];
    list.append(
        py::make_tuple(Name(port.name), DtypeOf(port.dtype), shape, port.scale, port.zero_point));
  }
  return list;
}

std::vector<const tenon_backend*> Named(const std::vector<std::string>& names) {
  std::vector<const tenon_backend*> backends;
  for (const std::string& name : names) {
    backends.push_back(tenon_backend_named(name.c_str()));
    if (backends.back() == nullptr) {
      throw py::value_error("there is no backend '" + name + "' here: see tenon.backends()");
    }
  }
  return backends;
}

}  // namespace

void Raise(tenon_status status, const char* message) {
  const py::object make = py::module_::import("tenon._errors").attr("of_status");
  const py::object error = make(static_cast<int>(status), Words(message));
  PyErr_SetObject(error.get_type().ptr(), error.ptr());
  throw py::error_already_set();
}

Plan::Plan(const std::string& path, int threads, const std::string& program,
           const std::vector<std::string>& backends) {
  const std::vector<const tenon_backend*> named = Named(backends);
  const tenon_backends list{named.data(), named.size()};
  tenon_error error{};
  tenon_status status = TENON_OK;
  {
    const py::gil_scoped_release others_run;
    status = tenon_plan_open_program(path.c_str(), program.empty() ? nullptr : program.c_str(),
                                     named.empty() ? nullptr : &list, threads, &handle_, &error);
  }
  RaiseIf(status, error);
  inputs_.resize(tenon_plan_input_count(handle_));
  outputs_.resize(tenon_plan_output_count(handle_));
  for (size_t i = 0; status == TENON_OK && i < inputs_.size(); ++i) {
    status = tenon_plan_input(handle_, i, &inputs_[i]);
  }
  for (size_t i = 0; status == TENON_OK && i < outputs_.size(); ++i) {
    status = tenon_plan_output(handle_, i, &outputs_[i]);
  }
  if (status != TENON_OK) {
    tenon_plan_close(handle_);
    Raise(status, tenon_status_text(status));
  }
}

void BindPlan(py::module_& module) {
  py::class_<Plan, std::shared_ptr<Plan>> plan(module, "Plan", py::is_final());
  MakeOnlyHere(plan);
  plan.def_static(
          "open",
          [](const std::string& path, int threads, const std::string& program,
             const std::vector<std::string>& backends) {
            return std::make_shared<Plan>(path, threads, program, backends);
          },
          py::arg("path"), py::arg("threads"), py::arg("program"), py::arg("backends"))
      .def_property_readonly("inputs", [](const Plan& self) { return Ports(self.inputs()); })
      .def_property_readonly("outputs", [](const Plan& self) { return Ports(self.outputs()); })
      .def_property_readonly("programs", &Programs)
      .def_property_readonly("ops", &Ops)
      .def_property_readonly("arenas", &Arenas)
      .def_property_readonly(
          "notice", [](const Plan& self) { return Words(tenon_plan_notice(self.handle())); });
}

}  // namespace tenon::python
