#include <pybind11/stl.h>

#include <map>
#include <memory>

#include "python/src/arrays.hpp"
#include "python/src/plan.hpp"

namespace py = pybind11;

namespace tenon::python {
namespace {

uint64_t Nanoseconds(double seconds) {
  constexpr double kLongest = 1e9;  // 30 years: for ever
  if (!(seconds < kLongest)) return UINT64_MAX;
  return seconds <= 0 ? 0 : static_cast<uint64_t>(seconds * 1e9);
}

/// Keeps the arrays of every input that is under way.
class Stream {
 public:
  Stream(std::shared_ptr<Plan> plan, int mode, size_t replicas, size_t queue_depth)
      : plan_(std::move(plan)) {
    tenon_stream_options options{};
    options.mode = static_cast<tenon_stream_mode>(mode);
    options.replicas = replicas;
    options.queue_depth = queue_depth;
    tenon_error error{};
    RaiseIf(tenon_stream_open(plan_->handle(), &options, &handle_, &error), error);
  }
  ~Stream() { Close(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Waits for all that is under way.
  void Close() {
    if (calls_ != 0) throw std::runtime_error("this stream is in use on another thread");
    tenon_stream* closing = std::exchange(handle_, nullptr);
    {
      const py::gil_scoped_release others_run;
      tenon_stream_close(closing);
    }
    in_flight_.clear();
  }

  uint64_t Submit(py::handle inputs, py::handle outputs, double timeout) {
    RequireOpen();
    Arrays arrays;
    arrays.inputs = Gather(plan_->inputs(), inputs, false, "input");
    if (outputs.is_none()) {
      for (const tenon_port_info& port : plan_->outputs()) arrays.outputs.push_back(NewArray(port));
    } else {
      arrays.outputs = Gather(plan_->outputs(), outputs, true, "output");
      RequireApart(arrays.inputs, arrays.outputs);
    }
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const py::array& array : arrays.inputs) from.push_back(array.data());
    for (py::array& array : arrays.outputs) to.push_back(array.mutable_data());
    uint64_t ticket = 0;
    tenon_error error{};
    tenon_status status = TENON_OK;
    {
      const Call call(calls_);
      const py::gil_scoped_release others_run;
      status = tenon_stream_submit(handle_, from.data(), to.data(), Nanoseconds(timeout), &ticket,
                                   &error);
    }
    RaiseIf(status, error);
    in_flight_.emplace(ticket, std::move(arrays));
    return ticket;
  }

  py::dict Wait(uint64_t ticket, double timeout) {
    RequireOpen();
    tenon_error error{};
    tenon_status status = TENON_OK;
    {
      const Call call(calls_);
      const py::gil_scoped_release others_run;
      status = tenon_stream_wait(handle_, ticket, Nanoseconds(timeout), &error);
    }
    // Not over yet, so its arrays are in use; or another thread has its outcome.
    const bool mine = status != TENON_DEADLINE_EXCEEDED && status != TENON_INVALID_ARGUMENT;
    if (!mine) Raise(status, error.message);
    auto arrays = in_flight_.extract(ticket);
    RaiseIf(status, error);
    if (arrays.empty()) throw std::runtime_error("the stream was closed while this waited");
    py::dict named;
    for (size_t i = 0; i < plan_->outputs().size(); ++i) {
      named[plan_->outputs()[i].name] = std::move(arrays.mapped().outputs[i]);
    }
    return named;
  }

  void Reset() {
    RequireOpen();
    tenon_error error{};
    RaiseIf(tenon_stream_reset(handle_, &error), error);
  }

  [[nodiscard]] size_t Limit() const {
    RequireOpen();
    tenon_stream_stats stats{};
    const tenon_status status = tenon_stream_get_stats(handle_, &stats);
    if (status != TENON_OK) Raise(status, tenon_status_text(status));
    return stats.in_flight_limit;
  }

 private:
  struct Arrays {
    std::vector<py::array> inputs;
    std::vector<py::array> outputs;
  };

  /// A call with the interpreter's lock released, which close must not come into.
  class Call {
   public:
    explicit Call(int& calls) : calls_(calls) { ++calls_; }
    ~Call() { --calls_; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    int& calls_;
  };

  void RequireOpen() const {
    if (handle_ == nullptr) throw py::value_error("this stream is closed");
  }

  std::shared_ptr<Plan> plan_;
  tenon_stream* handle_ = nullptr;
  std::map<uint64_t, Arrays> in_flight_;
  int calls_ = 0;  ///< changed with the interpreter's lock held
};

}  // namespace

void BindStream(py::module_& module) {
  constexpr double kForever = 1e18;
  py::class_<Stream>(module, "Stream")
      .def(py::init<std::shared_ptr<Plan>, int, size_t, size_t>(), py::arg("plan"), py::arg("mode"),
           py::arg("replicas"), py::arg("queue_depth"))
      .def("submit", &Stream::Submit, py::arg("inputs"), py::arg("outputs") = py::none(),
           py::arg("timeout") = kForever)
      .def("wait", &Stream::Wait, py::arg("ticket"), py::arg("timeout") = kForever)
      .def("reset", &Stream::Reset)
      .def("close", &Stream::Close)
      .def_property_readonly("in_flight_limit", &Stream::Limit);
}

}  // namespace tenon::python
