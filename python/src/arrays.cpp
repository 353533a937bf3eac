#include "python/src/arrays.hpp"

#include <iterator>

#include "python/src/values.hpp"

namespace py = pybind11;

namespace tenon::python {
namespace {

/// "float32[1, 3, 224, 224]"
std::string Describe(const py::dtype& dtype, const std::vector<py::ssize_t>& shape) {
  std::string text = py::str(py::handle(dtype)).cast<std::string>() + "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

std::vector<py::ssize_t> ShapeOf(const tenon_port_info& info) {
  return {info.dims, info.dims + info.rank};
}

bool Overlap(const py::array& a, const py::array& b) {
  const auto first = reinterpret_cast<uintptr_t>(a.data());
  const auto second = reinterpret_cast<uintptr_t>(b.data());
  if (a.nbytes() == 0 || b.nbytes() == 0) return false;
  return first < second + static_cast<size_t>(b.nbytes()) &&
         second < first + static_cast<size_t>(a.nbytes());
}

[[noreturn]] void FailWithPort(const tenon_port_info& info, const std::string& problem) {
  Raise(PyExc_ValueError, "'" + std::string(info.name) + "' wants " +
                              Describe(DtypeOf(info.dtype), ShapeOf(info)) + ", " + problem);
}

[[noreturn]] void FailWithType(const tenon_port_info& info, const py::array& array) {
  const bool is_bits = info.dtype == TENON_BF16;  // a number's conversion would not give them
  const std::vector<py::ssize_t> shape(array.shape(), array.shape() + array.ndim());
  Raise(PyExc_TypeError, "'" + std::string(info.name) + "' wants " +
                             (is_bits ? "the bits of bfloat16, " : "") +
                             Describe(DtypeOf(info.dtype), ShapeOf(info)) + ", not " +
                             Describe(array.dtype(), shape) +
                             (is_bits ? ": of an array of ml_dtypes.bfloat16, array.view('uint16')"
                                      : ": array.astype(...) converts"));
}

/// A mapping or sequence of another type than dict, list and tuple, as one of those; else as it is.
py::object AsDictOrTuple(py::handle arrays) {
  PyObject* given = arrays.ptr();
  if (PyDict_Check(given) || PyList_Check(given) || PyTuple_Check(given) ||
      py::isinstance<py::array>(arrays)) {
    return py::reinterpret_borrow<py::object>(arrays);
  }
  if (PyMapping_Check(given) != 0 && py::hasattr(arrays, "keys")) {
    py::dict copied;
    if (PyDict_Update(copied.ptr(), given) != 0) throw py::error_already_set();
    return std::move(copied);
  }
  if (PySequence_Check(given) != 0 && !PyUnicode_Check(given) && !PyBytes_Check(given)) {
    PyObject* copied = PySequence_Tuple(given);
    if (copied == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(copied);
  }
  return py::reinterpret_borrow<py::object>(arrays);
}

}  // namespace

py::dtype DtypeOf(tenon_dtype dtype) {
  static constexpr const char* kNames[] = {"float32", "float16", "uint16", "float64", "int8",
                                           "uint8",   "int16",   "uint16", "int32",   "uint32",
                                           "int64",   "uint64",  "bool"};
  // Made once: a type is looked up by name in microseconds, and runs need it each time.
  static PyObject* made[std::size(kNames)] = {};
  PyObject*& type = made[dtype];
  if (type == nullptr) type = py::dtype(kNames[dtype]).release().ptr();
  return py::reinterpret_borrow<py::dtype>(type);
}

py::array NewArray(const tenon_port_info& info) {
  return py::array(DtypeOf(info.dtype), ShapeOf(info));
}

py::array View(const tenon_port_info& info, const void* data, py::handle owner, bool writable) {
  py::array view(DtypeOf(info.dtype), ShapeOf(info), data, owner);
  if (!writable)
    py::detail::array_proxy(view.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return view;
}

py::array Checked(const tenon_port_info& info, py::handle object, bool writable) {
  if (!py::isinstance<py::array>(object)) {
    Raise(PyExc_TypeError, "'" + std::string(info.name) + "' wants a NumPy array, not " +
                               py::type::handle_of(object).attr("__name__").cast<std::string>());
  }
  auto array = py::reinterpret_borrow<py::array>(object);
  if (!array.dtype().is(DtypeOf(info.dtype)) && !array.dtype().equal(DtypeOf(info.dtype))) {
    FailWithType(info, array);
  }
  bool same = array.ndim() == info.rank;
  for (int i = 0; same && i < info.rank; ++i) same = array.shape(i) == info.dims[i];
  if (!same) {
    const std::vector<py::ssize_t> shape(array.shape(), array.shape() + array.ndim());
    FailWithPort(info, "not " + Describe(array.dtype(), shape));
  }
  if ((array.flags() & py::array::c_style) == 0) {
    FailWithPort(info, "in C order: numpy.ascontiguousarray(...) makes it so");
  }
  if (reinterpret_cast<uintptr_t>(array.data()) % tenon_dtype_bytes(info.dtype) != 0) {
    FailWithPort(info, "aligned to its elements: array.copy() is");
  }
  if (writable && !array.writeable()) FailWithPort(info, "that may be written");
  return array;
}

std::vector<py::array> Gather(const std::vector<tenon_port_info>& ports, py::handle given,
                              bool writable, const char* what) {
  const py::object arrays = AsDictOrTuple(given);
  std::vector<py::array> gathered;
  gathered.reserve(ports.size());
  if (py::isinstance<py::dict>(arrays)) {
    const auto named = py::reinterpret_borrow<py::dict>(arrays);
    for (const tenon_port_info& port : ports) {
      PyObject* found = PyDict_GetItemWithError(named.ptr(), Name(port.name).ptr());
      if (found == nullptr) {
        if (PyErr_Occurred() != nullptr) throw py::error_already_set();
        Raise(PyExc_KeyError, "no " + std::string(what) + " '" + port.name + "' was given");
      }
      gathered.push_back(Checked(port, found, writable));
    }
    if (named.size() == ports.size()) return gathered;
    for (const auto& [name, array] : named) {
      bool known = false;
      for (const tenon_port_info& port : ports) known = known || Name(port.name).equal(name);
      if (known) continue;
      throw py::key_error("the plan has no " + std::string(what) + " " +
                          py::repr(name).cast<std::string>());
    }
    return gathered;
  }
  if (py::isinstance<py::array>(arrays) && ports.size() == 1) {
    gathered.push_back(Checked(ports[0], arrays, writable));
    return gathered;
  }
  if (!py::isinstance<py::list>(arrays) && !py::isinstance<py::tuple>(arrays)) {
    throw py::type_error("give " + std::string(what) + "s as a dict by name, or a list of " +
                         std::to_string(ports.size()));
  }
  const auto listed = py::reinterpret_borrow<py::sequence>(arrays);
  if (listed.size() != ports.size()) {
    throw py::value_error("the plan has " + std::to_string(ports.size()) + " " + what + "(s), " +
                          std::to_string(listed.size()) + " were given");
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    gathered.push_back(Checked(ports[i], py::object(listed[i]), writable));
  }
  return gathered;
}

void RequireApart(const std::vector<py::array>& inputs, const std::vector<py::array>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const py::array& input : inputs) {
      if (Overlap(outputs[i], input)) {
        throw py::value_error("an output's array shares memory with an input's");
      }
    }
    for (size_t k = 0; k < i; ++k) {
      if (Overlap(outputs[i], outputs[k])) {
        throw py::value_error("two outputs' arrays share memory");
      }
    }
  }
}

}  // namespace tenon::python
