// Values of Python as those of tenon.h, and back.
#pragma once

#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

namespace tenon::python {

/// Infinity, and anything beyond 30 years: UINT64_MAX, which is for ever. A moment is not nothing.
[[nodiscard]] inline uint64_t Nanoseconds(double seconds) {
  constexpr double kLongest = 1e9;
  if (std::isnan(seconds)) throw pybind11::value_error("a timeout is not a number");
  if (seconds >= kLongest) return UINT64_MAX;
  return seconds <= 0 ? 0 : static_cast<uint64_t>(std::ceil(seconds * 1e9));
}

/// A name inside a plan. Bytes that are no UTF-8 come as os.fsdecode gives them, and go back so.
[[nodiscard]] inline pybind11::str Name(const char* text) {
  PyObject* made =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "surrogateescape");
  if (made == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::str>(made);
}

/// Words for people: they may quote a path of any bytes, or end in the middle of a character.
[[nodiscard]] inline pybind11::str Words(const char* text) {
  PyObject* made =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace");
  if (made == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::str>(made);
}

/// Raises an exception of Python: a text of C++ would have to be UTF-8.
[[noreturn]] inline void Raise(PyObject* type, const std::string& words) {
  PyErr_SetObject(type, Words(words.c_str()).ptr());
  throw pybind11::error_already_set();
}

/// Python makes no object of the class: one without a C++ object in it would be read all the same.
inline void MakeOnlyHere(const pybind11::object& type) {
  reinterpret_cast<PyTypeObject*>(type.ptr())->tp_new = nullptr;
}

}  // namespace tenon::python
