// Runs one oneDNN primitive as a Tenon kernel, which is common to all oneDNN kernels.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <cstddef>

#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::onednn {

/// Converts the result of a oneDNN call to a Status.
[[nodiscard]] Status FromDnnl(dnnl_status_t status);

#define TENON_RETURN_IF_DNNL_ERROR(expression) \
  TENON_RETURN_IF_ERROR(::tenon::cpu::onednn::FromDnnl(expression))

/// Says which operand of the op an argument of a primitive is.
struct Binding {
  int argument;  ///< DNNL_ARG_...
  int operand;   ///< index of an input, or kOutput
};
inline constexpr int kOutput = -1;

/// Owns memory that is aligned for vectors.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer();

  Status Allocate(size_t bytes);
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Owns a oneDNN object of a C handle type, and destroys it by the type's function.
template <typename Object, dnnl_status_t (*destroy)(Object)>
class Handle {
 public:
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (object_ != nullptr) destroy(object_);
  }
  [[nodiscard]] Object get() const { return object_; }
  /// Returns where a create function puts a new object; the handle must be empty.
  [[nodiscard]] Object* out() { return &object_; }

 private:
  Object object_ = nullptr;
};
using EngineHandle = Handle<dnnl_engine_t, dnnl_engine_destroy>;
using StreamHandle = Handle<dnnl_stream_t, dnnl_stream_destroy>;
using MemoryHandle = Handle<dnnl_memory_t, dnnl_memory_destroy>;
using PrimitiveHandle = Handle<dnnl_primitive_t, dnnl_primitive_destroy>;
using PrimitiveDescHandle = Handle<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using AttributesHandle = Handle<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;

/// Contains what a kernel tells MakePrimitive.
struct PrimitiveSpec {
  const_dnnl_op_desc_t op_desc = nullptr;
  const_dnnl_primitive_attr_t attributes = nullptr;  ///< may be null; scratch must be the user's
  Span<const Binding> bindings;                      ///< all but the weights and the scratch
  /// Is the operand with the weights, as the plan contains it, whose form the primitive may choose
  /// (`format_tag_any` in op_desc); -1 means none.
  int weights_operand = -1;
  dnnl_memory_desc_t weights_in_plan = {};
};

/// Makes the primitive, packs the weights if they are constant, and returns in `shared` what `open`
/// needs. Errors: kBackendFailure, kOutOfMemory.
Status MakePrimitive(const KernelSetup& setup, const PrimitiveSpec& spec, void** shared);

/// Lets a second primitive, which `shared` then owns, compute the rest of the op, perhaps on
/// another thread at the same time: its input 0 and output begin so many floats on.
void AddRest(void* shared, void* rest, int64_t input, int64_t output);

/// Are `open`, `run`, `close`, `unload` and `held_bytes` of every oneDNN kernel.
Status Open(const KernelSetup& setup, void* shared, void** state);
Status Execute(const KernelCall& call);
void Close(void* state);
void Unload(void* shared);
[[nodiscard]] size_t HeldBytes(const void* shared, const void* state);

/// Makes a memory descriptor of f32 with these dims and strides, `rank` of each.
Status MakeDesc(int rank, const dnnl_dim_t* dims, const dnnl_dim_t* strides,
                dnnl_memory_desc_t* desc);

/// Makes the descriptor of a rank 4 channels-last tensor without gaps.
Status ChannelsLastDesc(const TensorView& view, dnnl_memory_desc_t* desc);

/// Makes a descriptor with the same dims, whose form the primitive may choose.
Status AnyDesc(const dnnl_memory_desc_t& like, dnnl_memory_desc_t* desc);

/// Refuses (kUnsupported) a tensor that is not channels-last without gaps.
Status CheckChannelsLast(const TensorView& view);

}  // namespace tenon::cpu::onednn
