// tenon._runtime: the runtime for Python. tenon/_api.py gives it the form that users see.
#include <pybind11/pybind11.h>

#include <iterator>
#include <string>

#include "python/src/plan.hpp"

namespace py = pybind11;

namespace {

py::list Backends() {
  const tenon_backend* found[16];
  const size_t count = tenon_every_backend(found, std::size(found));
  py::list names;
  for (size_t i = 0; i < count && i < std::size(found); ++i) names.append(found[i]->name);
  return names;
}

/// pybind11 before 2.12 reads the structures of NumPy 1 and, with NumPy 2, the wrong bytes.
void RequireNumpy() {
#if PYBIND11_VERSION_HEX < 0x020C0000
  const auto version = py::module_::import("numpy").attr("__version__").cast<std::string>();
  if (std::stoi(version) >= 2) {
    throw py::import_error("this build of tenon works with NumPy 1 (pip install 'numpy<2'), not " +
                           version + ": build it with pybind11 2.12 or later for both");
  }
#endif
}

/// What the module keeps (types, once for the process) belongs to the first interpreter.
void RequireMainInterpreter() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return;
  throw py::import_error(
      "tenon works in a process's main interpreter alone: give it threads or processes, no "
      "sub-interpreters");
}

}  // namespace

PYBIND11_MODULE(_runtime, module) {
  RequireMainInterpreter();
  RequireNumpy();
  module.def("version", &tenon_version);
  // A later interpreter gets a copy of the module without coming through here.
  module.def("require_main_interpreter", &RequireMainInterpreter);
  module.def("backends", &Backends);
  tenon::python::BindPlan(module);
  tenon::python::BindSession(module);
  tenon::python::BindStream(module);
}
