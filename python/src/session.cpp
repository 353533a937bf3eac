#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "python/src/arrays.hpp"
#include "python/src/plan.hpp"
#include "python/src/values.hpp"

namespace py = pybind11;

namespace tenon::python {
namespace {

/// The clock that the backends read deadlines on: steady_clock is CLOCK_MONOTONIC on Linux.
uint64_t MonotonicClock() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

/// One call at a time: the interpreter's lock is released while a session runs, so that another
/// thread could come in between, and would see the memory that the run uses.
class Session {
 public:
  Session(std::shared_ptr<Plan> plan, double timeout) : plan_(std::move(plan)) {
    const uint64_t nanoseconds = Nanoseconds(timeout);
    if (nanoseconds == 0) throw py::value_error("a session's timeout must be more than 0 seconds");
    tenon_error error{};
    RaiseIf(tenon_session_open(plan_->handle(), &handle_, &error), error);
    const bool is_limited = nanoseconds != UINT64_MAX;
    tenon_session_set_timeout(handle_, is_limited ? nanoseconds : 0,
                              is_limited ? &MonotonicClock : nullptr);
  }
  ~Session() {
    // A device that has not answered may use them yet: better lost than used twice.
    if (tenon_session_is_busy(handle_) != 0) {
      (void)new std::pair<std::shared_ptr<Plan>, Arrays>(plan_, std::move(lent_));
    }
    tenon_session_close(handle_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs on the arrays given, and on new ones for outputs where none are.
  py::dict Run(py::handle inputs, py::handle outputs) {
    const Use use(in_use_);
    TakeBack();
    const Arrays given = Gather(plan_->inputs(), inputs, false, "input");
    Arrays results;
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
    if (status != TENON_OK && tenon_session_is_busy(handle_) != 0) {
      lent_ = given;
      lent_.insert(lent_.end(), results.begin(), results.end());
    }
    Unbind();
    RaiseIf(status, error);
    py::dict named;
    for (size_t i = 0; i < results.size(); ++i) {
      named[Name(plan_->outputs()[i].name)] = std::move(results[i]);
    }
    return named;
  }

  /// Runs on the session's own memory: see Input and Output.
  void RunInPlace() {
    const Use use(in_use_);
    TakeBack();
    tenon_error error{};
    tenon_status status = TENON_OK;
    {
      const py::gil_scoped_release others_run;
      status = tenon_session_run(handle_, &error);
    }
    RaiseIf(status, error);
  }

  void Reset() {
    const Use use(in_use_);
    tenon_error error{};
    RaiseIf(tenon_session_reset(handle_, &error), error);
  }

  py::array Input(size_t index, py::handle self) {
    const Use use(in_use_);
    TakeBack();
    void* data = tenon_session_input(handle_, index);
    if (data == nullptr) throw py::index_error("the session has no memory for this input");
    return View(plan_->inputs()[index], data, self, true);
  }
  py::array Output(size_t index, py::handle self) {
    const Use use(in_use_);
    TakeBack();
    const void* data = tenon_session_output(handle_, index);
    if (data == nullptr) throw py::index_error("the session has no memory for this output");
    return View(plan_->outputs()[index], data, self, false);
  }
  [[nodiscard]] py::str Notice() {
    const Use use(in_use_);
    return Words(tenon_session_notice(handle_));
  }
  [[nodiscard]] bool IsBusy() {
    const Use use(in_use_);
    return tenon_session_is_busy(handle_) != 0;
  }

 private:
  using Arrays = std::vector<py::array>;

  class Use {
   public:
    explicit Use(std::atomic<bool>& in_use) : in_use_(in_use) {
      if (in_use_.exchange(true)) {
        throw std::runtime_error("this session runs on another thread: give each one of its own");
      }
    }
    ~Use() { in_use_.store(false); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    std::atomic<bool>& in_use_;
  };

  /// What a device that did not answer in time was given is the session's own until it is done.
  void TakeBack() {
    if (lent_.empty()) return;
    if (tenon_session_is_busy(handle_) != 0) {
      Raise(TENON_BACKEND_FAILURE,
            "a device that did not answer in time still works on this session's last run: wait "
            "until is_busy is False, or open another session");
    }
    Unbind();
    lent_.clear();
  }

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
  std::atomic<bool> in_use_{false};
  Arrays lent_;  ///< arrays of a run that a device may still work on
};

}  // namespace

void BindSession(py::module_& module) {
  py::class_<Session> session(module, "Session", py::is_final());
  MakeOnlyHere(session);
  session
      .def_static(
          "open",
          [](std::shared_ptr<Plan> plan, double timeout) {
            return std::make_unique<Session>(std::move(plan), timeout);
          },
          py::arg("plan").none(false), py::arg("timeout"))
      .def("run", &Session::Run, py::arg("inputs"), py::arg("outputs"))
      .def("run_in_place", &Session::RunInPlace)
      .def("reset", &Session::Reset)
      .def("input", [](const py::object& self,
                       size_t index) { return self.cast<Session&>().Input(index, self); })
      .def("output", [](const py::object& self,
                        size_t index) { return self.cast<Session&>().Output(index, self); })
      .def_property_readonly("is_busy", &Session::IsBusy)
      .def_property_readonly("notice", &Session::Notice);
}

}  // namespace tenon::python
