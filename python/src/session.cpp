#include <pybind11/stl.h>

#include <atomic>
#include <memory>

#include "python/src/arrays.hpp"
#include "python/src/plan.hpp"

namespace py = pybind11;

namespace tenon::python {
namespace {

/// One run at a time: the interpreter's lock is released while a session runs, so that another
/// thread could come in between.
class Session {
 public:
  explicit Session(std::shared_ptr<Plan> plan) : plan_(std::move(plan)) {
    tenon_error error{};
    RaiseIf(tenon_session_open(plan_->handle(), &handle_, &error), error);
  }
  ~Session() { tenon_session_close(handle_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs on the arrays given, and on new ones for outputs where none are.
  py::dict Run(py::handle inputs, py::handle outputs) {
    const Use use(busy_);
    const std::vector<py::array> given = Gather(plan_->inputs(), inputs, false, "input");
    std::vector<py::array> results;
    if (outputs.is_none()) {
      results.reserve(plan_->outputs().size());
      for (const tenon_port_info& port : plan_->outputs()) results.push_back(NewArray(port));
    } else {
      results = Gather(plan_->outputs(), outputs, true, "output");
      RequireApart(given, results);
    }
    tenon_error error{};
    Bind(given, results, &error);
    tenon_status status = TENON_OK;
    {
      const py::gil_scoped_release others_run;
      status = tenon_session_run(handle_, &error);
    }
    Unbind();
    RaiseIf(status, error);
    py::dict named;
    for (size_t i = 0; i < results.size(); ++i) {
      named[plan_->outputs()[i].name] = std::move(results[i]);
    }
    return named;
  }

  /// Runs on the session's own memory: see Input and Output.
  void RunInPlace() {
    const Use use(busy_);
    tenon_error error{};
    tenon_status status = TENON_OK;
    {
      const py::gil_scoped_release others_run;
      status = tenon_session_run(handle_, &error);
    }
    RaiseIf(status, error);
  }

  void Reset() {
    const Use use(busy_);
    tenon_error error{};
    RaiseIf(tenon_session_reset(handle_, &error), error);
  }

  py::array Input(size_t index, py::handle self) const {
    void* data = tenon_session_input(handle_, index);
    if (data == nullptr) throw py::index_error("the plan has no input of this number");
    return View(plan_->inputs()[index], data, self, true);
  }
  py::array Output(size_t index, py::handle self) const {
    const void* data = tenon_session_output(handle_, index);
    if (data == nullptr) throw py::index_error("the plan has no output of this number");
    return View(plan_->outputs()[index], data, self, false);
  }
  [[nodiscard]] const char* Notice() const { return tenon_session_notice(handle_); }

 private:
  class Use {
   public:
    explicit Use(std::atomic<bool>& busy) : busy_(busy) {
      if (busy_.exchange(true)) {
        throw std::runtime_error("this session runs on another thread: give each one of its own");
      }
    }
    ~Use() { busy_.store(false); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::atomic<bool>& busy_;
  };

  void Bind(const std::vector<py::array>& inputs, std::vector<py::array>& outputs,
            tenon_error* error) {
    tenon_status status = TENON_OK;
    for (size_t i = 0; status == TENON_OK && i < inputs.size(); ++i) {
      status =
          tenon_session_bind_input(handle_, i, inputs[i].data(), plan_->inputs()[i].bytes, error);
    }
    for (size_t i = 0; status == TENON_OK && i < outputs.size(); ++i) {
      status = tenon_session_bind_output(handle_, i, outputs[i].mutable_data(),
                                         plan_->outputs()[i].bytes, error);
    }
    if (status == TENON_OK) return;
    Unbind();
    Raise(status, error->message);
  }

  /// Back to the session's own memory: the arrays may be gone before the next run.
  void Unbind() {
    tenon_error ignored{};
    for (size_t i = 0; i < plan_->inputs().size(); ++i) {
      (void)!tenon_session_bind_input(handle_, i, nullptr, plan_->inputs()[i].bytes, &ignored);
    }
    for (size_t i = 0; i < plan_->outputs().size(); ++i) {
      (void)!tenon_session_bind_output(handle_, i, nullptr, plan_->outputs()[i].bytes, &ignored);
    }
  }

  std::shared_ptr<Plan> plan_;
  tenon_session* handle_ = nullptr;
  std::atomic<bool> busy_{false};
};

}  // namespace

void BindSession(py::module_& module) {
  py::class_<Session>(module, "Session")
      .def(py::init<std::shared_ptr<Plan>>(), py::arg("plan"))
      .def("run", &Session::Run, py::arg("inputs"), py::arg("outputs") = py::none())
      .def("run_in_place", &Session::RunInPlace)
      .def("reset", &Session::Reset)
      .def("input", [](const py::object& self,
                       size_t index) { return self.cast<Session&>().Input(index, self); })
      .def("output", [](const py::object& self,
                        size_t index) { return self.cast<Session&>().Output(index, self); })
      .def_property_readonly("notice", &Session::Notice);
}

}  // namespace tenon::python
