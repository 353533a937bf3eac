#include <pybind11/stl.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "python/src/arrays.hpp"
#include "python/src/plan.hpp"
#include "python/src/stream_calls.hpp"
#include "python/src/values.hpp"

namespace py = pybind11;

namespace tenon::python {
namespace {

/// Keeps the arrays of every input that is under way. All members that are not of their own lock
/// are changed with the interpreter's lock held.
class Stream {
 public:
  Stream(std::shared_ptr<Plan> plan, int mode, size_t replicas, size_t queue_depth, size_t results,
         double device_timeout)
      : plan_(std::move(plan)) {
    tenon_stream_options options{};
    options.mode = static_cast<tenon_stream_mode>(mode);
    options.replicas = replicas;
    options.queue_depth = queue_depth;
    options.results = results;
    options.device_timeout_ns = Nanoseconds(device_timeout);
    if (options.device_timeout_ns == 0) {
      throw py::value_error("a stream's device_timeout must be more than 0 seconds");
    }
    options.notice = &Notices::Keep;
    options.notice_context = &notices_;
    tenon_error error{};
    RaiseIf(tenon_stream_open(plan_->handle(), &options, &handle_, &error), error);
  }
  // Nobody else knows the stream any more: no call is under way.
  ~Stream() { CloseNow(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Waits for all that is under way, and for another thread that closes.
  void Close() {
    if (calls_ != 0) throw std::runtime_error("this stream is in use on another thread");
    if (handle_ != nullptr) return CloseNow();
    (void)InSlices(UINT64_MAX, [this](uint64_t nanoseconds) {
      return closing_.AwaitEnd(nanoseconds) ? TENON_OK : TENON_DEADLINE_EXCEEDED;
    });
  }

  uint64_t Submit(py::handle inputs, py::handle outputs, double timeout) {
    RequireOpen();
    const uint64_t nanoseconds = Nanoseconds(timeout);
    // Made first, so that what was handed in is kept whatever happens then.
    auto node = NodeOf(GatherAll(inputs, outputs));
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const py::array& array : node.mapped().inputs) from.push_back(array.data());
    for (py::array& array : node.mapped().outputs) to.push_back(array.mutable_data());
    uint64_t ticket = 0;
    tenon_error error{};
    bool is_first = true;
    const Call call(calls_);
    const tenon_status status = InSlices(nanoseconds, [&](uint64_t slice) {
      if (!std::exchange(is_first, false)) ++repeated_submits_;
      return tenon_stream_submit(handle_, from.data(), to.data(), slice, &ticket, &error);
    });
    RaiseIf(status, error);
    node.key() = ticket;
    in_flight_.insert(std::move(node));
    return ticket;
  }

  py::dict Wait(uint64_t ticket, double timeout) {
    RequireOpen();
    const uint64_t nanoseconds = Nanoseconds(timeout);
    const Call call(calls_);
    Waiter waiter(in_flight_, ticket);
    tenon_error error{};
    const tenon_status status = InSlices(nanoseconds, [&](uint64_t slice) {
      return tenon_stream_wait(handle_, ticket, slice, &error);
    });
    // With any other status the ticket is over: here, or on another thread that waits for it too.
    if (status != TENON_DEADLINE_EXCEEDED) waiter.EndTicket();
    RaiseIf(status, error);
    if (waiter.arrays() == nullptr) {
      throw std::runtime_error("the ticket was waited for before submit had returned it");
    }
    py::dict named;
    for (size_t i = 0; i < plan_->outputs().size(); ++i) {
      named[Name(plan_->outputs()[i].name)] = std::move(waiter.arrays()->outputs[i]);
    }
    return named;
  }

  void Reset() {
    RequireOpen();
    tenon_error error{};
    RaiseIf(tenon_stream_reset(handle_, &error), error);
  }

  [[nodiscard]] tenon_stream_stats Stats() const {
    RequireOpen();
    tenon_stream_stats stats{};
    const tenon_status status = tenon_stream_get_stats(handle_, &stats);
    if (status != TENON_OK) Raise(status, tenon_status_text(status));
    stats.submit_stalls -= repeated_submits_;
    return stats;
  }
  [[nodiscard]] size_t Limit() const { return Stats().in_flight_limit; }
  [[nodiscard]] py::tuple AllStats() const { return StatsTuple(handle_, Stats()); }
  [[nodiscard]] py::list NoticeList() { return notices_.List(); }

 private:
  [[nodiscard]] StreamArrays GatherAll(py::handle inputs, py::handle outputs) const {
    StreamArrays arrays;
    arrays.inputs = Gather(plan_->inputs(), inputs, false, "input");
    if (outputs.is_none()) {
      for (const tenon_port_info& port : plan_->outputs()) arrays.outputs.push_back(NewArray(port));
    } else {
      arrays.outputs = Gather(plan_->outputs(), outputs, true, "output");
      RequireApart(arrays.inputs, arrays.outputs);
    }
    return arrays;
  }

  void CloseNow() {
    tenon_stream* closed = std::exchange(handle_, nullptr);
    if (closed == nullptr) return;
    closing_.Begin();
    {
      const py::gil_scoped_release others_run;
      tenon_stream_close(closed);
    }
    // What goes with the arrays may call back: nothing is as it should not be by then.
    const InFlight over = std::exchange(in_flight_, {});
    closing_.End();
  }

  void RequireOpen() const {
    if (handle_ == nullptr) throw py::value_error("this stream is closed");
  }

  std::shared_ptr<Plan> plan_;
  tenon_stream* handle_ = nullptr;
  InFlight in_flight_;
  int calls_ = 0;  ///< with the interpreter's lock released, which close must not come into
  std::atomic<uint64_t> repeated_submits_{0};  ///< those that went on waiting where one had ended
  Closing closing_;
  Notices notices_;
};

}  // namespace

void BindStream(py::module_& module) {
  py::class_<Stream> stream(module, "Stream", py::is_final());
  MakeOnlyHere(stream);
  stream
      .def_static(
          "open",
          [](std::shared_ptr<Plan> plan, int mode, size_t replicas, size_t queue_depth,
             size_t results, double device_timeout) {
            return std::make_unique<Stream>(std::move(plan), mode, replicas, queue_depth, results,
                                            device_timeout);
          },
          py::arg("plan").none(false), py::arg("mode"), py::arg("replicas"), py::arg("queue_depth"),
          py::arg("results"), py::arg("device_timeout"))
      .def("submit", &Stream::Submit, py::arg("inputs"), py::arg("outputs"), py::arg("timeout"))
      .def("wait", &Stream::Wait, py::arg("ticket"), py::arg("timeout"))
      .def("reset", &Stream::Reset)
      .def("close", &Stream::Close)
      .def("stats", &Stream::AllStats)
      .def_property_readonly("notices", &Stream::NoticeList)
      .def_property_readonly("in_flight_limit", &Stream::Limit);
}

}  // namespace tenon::python
