// Environment variables and intercepted OpenCL functions, put back when a test ends.
#pragma once

#include <atomic>
#include <cstdlib>
#include <string>

#include "backends/opencl/device/cl_functions.hpp"

namespace tenon::opencl::testing {

/// Sets a variable (null: removes it) for a while.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    was_set_ = before != nullptr;
    if (was_set_) before_ = before;
    Set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { Set(was_set_ ? before_.c_str() : nullptr); }

  void Set(const char* value) {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  bool was_set_ = false;
  std::string before_;
};

struct CallCounts {
  int built = 0;     ///< programs, from source
  int binaries = 0;  ///< programs that the driver was given as such
  int launched = 0;
  int arguments = 0;
  int finished = 0;
  int copies = 0;
};

/// Counts calls of the functions that tests are about, and lets launches fail, for a while.
class Interception {
 public:
  Interception() {
    original_ = FindClFunctions();
    ClFunctions functions = *original_;
    functions.CreateProgramWithSource = [](auto... arguments) {
      ++counts_.built;
      return original_->CreateProgramWithSource(arguments...);
    };
    functions.CreateProgramWithBinary = [](auto... arguments) {
      ++counts_.binaries;
      return original_->CreateProgramWithBinary(arguments...);
    };
    functions.EnqueueNDRangeKernel = [](auto... arguments) {
      ++counts_.launched;
      if (launch_error_ != CL_SUCCESS) return launch_error_.load();
      return original_->EnqueueNDRangeKernel(arguments...);
    };
    functions.SetKernelArg = [](auto... arguments) {
      ++counts_.arguments;
      return original_->SetKernelArg(arguments...);
    };
    functions.Finish = [](auto... arguments) {
      ++counts_.finished;
      return original_->Finish(arguments...);
    };
    functions.EnqueueWriteBuffer = [](auto... arguments) {
      ++counts_.copies;
      return original_->EnqueueWriteBuffer(arguments...);
    };
    functions.EnqueueReadBuffer = [](auto... arguments) {
      ++counts_.copies;
      return original_->EnqueueReadBuffer(arguments...);
    };
    functions.GetEventInfo = [](cl_event event, cl_event_info info, size_t bytes, void* value,
                                size_t* given) {
      const cl_int code = original_->GetEventInfo(event, info, bytes, value, given);
      if (event_error_ != CL_SUCCESS) *static_cast<cl_int*>(value) = event_error_;
      return code;
    };
    functions_ = functions;
    counts_ = CallCounts{};
    launch_error_ = CL_SUCCESS;
    event_error_ = CL_SUCCESS;
    InterceptClFunctions(&functions_);
  }
  Interception(const Interception&) = delete;
  Interception& operator=(const Interception&) = delete;
  ~Interception() { InterceptClFunctions(nullptr); }

  /// Since the last call.
  static CallCounts Take() {
    const CallCounts counts = counts_;
    counts_ = CallCounts{};
    return counts;
  }
  static void FailLaunches(cl_int code) { launch_error_ = code; }
  /// Every event then says that its command has failed.
  static void FailEvents(cl_int code) { event_error_ = code; }

 private:
  inline static const ClFunctions* original_ = nullptr;
  inline static ClFunctions functions_;
  inline static CallCounts counts_;
  inline static std::atomic<cl_int> launch_error_{CL_SUCCESS};
  inline static std::atomic<cl_int> event_error_{CL_SUCCESS};
};

}  // namespace tenon::opencl::testing
