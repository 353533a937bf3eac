#include "backends/cpu/kernels/onednn/primitive.hpp"

#include <omp.h>

#include <new>

#include "backends/cpu/caps/onednn_caps.hpp"

namespace tenon::cpu::onednn {
namespace {

constexpr std::align_val_t kAlignment{64};
constexpr size_t kMostBindings = 6;

/// Keeps oneDNN on the calling thread while this lives: the plan's own team is the only one, and
/// the program's OpenMP setting is left as it was.
class OneThreadScope {
 public:
  OneThreadScope() : saved_(omp_get_max_threads()) {
    if (saved_ != 1) omp_set_num_threads(1);
  }
  OneThreadScope(const OneThreadScope&) = delete;
  OneThreadScope& operator=(const OneThreadScope&) = delete;
  ~OneThreadScope() {
    if (saved_ != 1) omp_set_num_threads(saved_);
  }

 private:
  int saved_;
};

/// What sessions share: made by `load`.
struct Shared {
  EngineHandle engine;
  PrimitiveDescHandle desc;
  PrimitiveHandle primitive;
  Binding bindings[kMostBindings] = {};
  size_t binding_count = 0;
  size_t scratch_bytes = 0;

  int weights_operand = -1;
  bool repack = false;  ///< the weights' form differs and they are no constant: packed in each run
  bool packed = false;  ///< the weights' packed form is in `packed_weights`

  Shared* rest = nullptr;   ///< computes the rest of the op, from here on:
  int64_t rest_input = 0;   ///< floats into input 0
  int64_t rest_output = 0;  ///< floats into the output
  dnnl_memory_desc_t weights_in_plan = {};
  AlignedBuffer packed_weights;
};

/// What one session has: made by `open`.
struct Session {
  const Shared* shared = nullptr;
  Session* rest = nullptr;
  StreamHandle stream;
  MemoryHandle memories[kMostBindings];  ///< in the order of `Shared::bindings`
  MemoryHandle weights;
  MemoryHandle scratch;
  AlignedBuffer own_scratch;  ///< where the plan's workspace is too small

  MemoryHandle plain_weights;  ///< with `repack`: the operand, and the primitive that packs it
  PrimitiveHandle packer;
  AlignedBuffer own_weights;

  dnnl_exec_arg_t arguments[kMostBindings + 2] = {};
  int argument_count = 0;
};

static_assert(sizeof(Shared) + sizeof(Session) <= kObjectBytes, "counted in packed_bytes");

const dnnl_memory_desc_t* ArgumentDesc(const Shared& shared, int argument) {
  return dnnl_primitive_desc_query_md(shared.desc.get(), dnnl_query_exec_arg_md, argument);
}

Status MakePacker(const Shared& shared, PrimitiveHandle& packer) {
  PrimitiveDescHandle desc;
  TENON_RETURN_IF_DNNL_ERROR(dnnl_reorder_primitive_desc_create(
      desc.out(), &shared.weights_in_plan, shared.engine.get(),
      ArgumentDesc(shared, DNNL_ARG_WEIGHTS), shared.engine.get(), nullptr));
  return FromDnnl(dnnl_primitive_create(packer.out(), desc.get()));
}

Status MakeMemory(const Shared& shared, const dnnl_memory_desc_t* desc, void* data,
                  MemoryHandle& memory) {
  return FromDnnl(dnnl_memory_create(memory.out(), desc, shared.engine.get(), data));
}

Status Pack(dnnl_primitive_t packer, dnnl_stream_t stream, dnnl_memory_t from, dnnl_memory_t to) {
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  TENON_RETURN_IF_DNNL_ERROR(dnnl_primitive_execute(packer, stream, 2, arguments));
  return FromDnnl(dnnl_stream_wait(stream));
}

Status PackConstantWeights(void* data, Shared& shared) {
  const dnnl_memory_desc_t* packed_desc = ArgumentDesc(shared, DNNL_ARG_WEIGHTS);
  TENON_RETURN_IF_ERROR(shared.packed_weights.Allocate(dnnl_memory_desc_get_size(packed_desc)));
  PrimitiveHandle packer;
  TENON_RETURN_IF_ERROR(MakePacker(shared, packer));
  StreamHandle stream;
  MemoryHandle from;
  MemoryHandle to;
  TENON_RETURN_IF_DNNL_ERROR(
      dnnl_stream_create(stream.out(), shared.engine.get(), dnnl_stream_default_flags));
  TENON_RETURN_IF_ERROR(MakeMemory(shared, &shared.weights_in_plan, data, from));
  TENON_RETURN_IF_ERROR(MakeMemory(shared, packed_desc, shared.packed_weights.data(), to));
  shared.packed = true;
  return Pack(packer.get(), stream.get(), from.get(), to.get());
}

Status PrepareWeights(const KernelSetup& setup, const PrimitiveSpec& spec, Shared& shared) {
  shared.weights_operand = spec.weights_operand;
  if (spec.weights_operand < 0) return OkStatus();
  shared.weights_in_plan = spec.weights_in_plan;
  if (dnnl_memory_desc_equal(&spec.weights_in_plan, ArgumentDesc(shared, DNNL_ARG_WEIGHTS)) != 0) {
    return OkStatus();
  }
  void* data = setup.op.Input(spec.weights_operand).data;
  if (data != nullptr) return PackConstantWeights(data, shared);
  shared.repack = true;
  return OkStatus();
}

Status FillShared(const KernelSetup& setup, const PrimitiveSpec& spec, Shared& shared) {
  const OneThreadScope scope;
  TENON_ENSURE(spec.bindings.size() <= kMostBindings, kInvalidArgument, "too many bindings");
  for (const Binding& binding : spec.bindings) shared.bindings[shared.binding_count++] = binding;
  TENON_RETURN_IF_DNNL_ERROR(dnnl_engine_create(shared.engine.out(), dnnl_cpu, 0));
  TENON_RETURN_IF_DNNL_ERROR(dnnl_primitive_desc_create(
      shared.desc.out(), spec.op_desc, spec.attributes, shared.engine.get(), nullptr));
  TENON_RETURN_IF_DNNL_ERROR(dnnl_primitive_create(shared.primitive.out(), shared.desc.get()));
  const dnnl_memory_desc_t* scratch =
      dnnl_primitive_desc_query_md(shared.desc.get(), dnnl_query_scratchpad_md, 0);
  shared.scratch_bytes = scratch != nullptr ? dnnl_memory_desc_get_size(scratch) : 0;
  return PrepareWeights(setup, spec, shared);
}

void AddArgument(Session& session, int argument, const MemoryHandle& memory) {
  session.arguments[session.argument_count++] = {argument, memory.get()};
}

Status OpenWeights(Session& session) {
  const Shared& shared = *session.shared;
  if (shared.weights_operand < 0) return OkStatus();
  const dnnl_memory_desc_t* desc = ArgumentDesc(shared, DNNL_ARG_WEIGHTS);
  void* data = shared.packed_weights.data();
  if (shared.repack) {
    TENON_RETURN_IF_ERROR(session.own_weights.Allocate(dnnl_memory_desc_get_size(desc)));
    data = session.own_weights.data();
    TENON_RETURN_IF_ERROR(MakePacker(shared, session.packer));
    TENON_RETURN_IF_ERROR(
        MakeMemory(shared, &shared.weights_in_plan, nullptr, session.plain_weights));
  }
  TENON_RETURN_IF_ERROR(MakeMemory(shared, desc, data, session.weights));
  AddArgument(session, DNNL_ARG_WEIGHTS, session.weights);
  return OkStatus();
}

Status OpenScratch(size_t workspace_bytes, Session& session) {
  const Shared& shared = *session.shared;
  if (shared.scratch_bytes == 0) return OkStatus();
  if (workspace_bytes < shared.scratch_bytes) {
    TENON_RETURN_IF_ERROR(session.own_scratch.Allocate(shared.scratch_bytes));
  }
  TENON_RETURN_IF_ERROR(MakeMemory(
      shared, dnnl_primitive_desc_query_md(shared.desc.get(), dnnl_query_scratchpad_md, 0),
      session.own_scratch.data(), session.scratch));
  AddArgument(session, DNNL_ARG_SCRATCHPAD, session.scratch);
  return OkStatus();
}

Status FillSession(const KernelSetup& setup, Session& session) {
  const OneThreadScope scope;
  const Shared& shared = *session.shared;
  TENON_RETURN_IF_DNNL_ERROR(
      dnnl_stream_create(session.stream.out(), shared.engine.get(), dnnl_stream_default_flags));
  for (size_t i = 0; i < shared.binding_count; ++i) {
    const int argument = shared.bindings[i].argument;
    TENON_RETURN_IF_ERROR(
        MakeMemory(shared, ArgumentDesc(shared, argument), nullptr, session.memories[i]));
    AddArgument(session, argument, session.memories[i]);
  }
  TENON_RETURN_IF_ERROR(OpenWeights(session));
  return OpenScratch(setup.workspace_bytes, session);
}

/// Weights in the plan's own form are used where they lie; others that are no constant are packed.
Status BindWeights(const KernelCall& call, const Session& session) {
  const Shared& shared = *session.shared;
  if (shared.weights_operand < 0 || shared.packed) return OkStatus();
  void* data = call.op.Input(shared.weights_operand).data;
  if (!shared.repack) {
    return FromDnnl(
        dnnl_memory_set_data_handle_v2(session.weights.get(), data, session.stream.get()));
  }
  TENON_RETURN_IF_DNNL_ERROR(
      dnnl_memory_set_data_handle_v2(session.plain_weights.get(), data, session.stream.get()));
  return Pack(session.packer.get(), session.stream.get(), session.plain_weights.get(),
              session.weights.get());
}

/// Runs one primitive on the calling thread, with input 0 and the output so many floats on.
Status ExecuteOne(const KernelCall& call, const Session& session, int64_t input, int64_t output) {
  const OneThreadScope scope;
  const Shared& shared = *session.shared;
  for (size_t i = 0; i < shared.binding_count; ++i) {
    const int operand = shared.bindings[i].operand;
    void* data = operand == kOutput ? call.op.Output().data : call.op.Input(operand).data;
    if (operand == kOutput) data = static_cast<float*>(data) + output;
    if (operand == 0) data = static_cast<float*>(data) + input;
    TENON_RETURN_IF_DNNL_ERROR(
        dnnl_memory_set_data_handle_v2(session.memories[i].get(), data, session.stream.get()));
  }
  if (shared.scratch_bytes > 0 && session.own_scratch.data() == nullptr) {
    TENON_RETURN_IF_DNNL_ERROR(dnnl_memory_set_data_handle_v2(session.scratch.get(), call.workspace,
                                                              session.stream.get()));
  }
  TENON_RETURN_IF_ERROR(BindWeights(call, session));
  TENON_RETURN_IF_DNNL_ERROR(dnnl_primitive_execute(shared.primitive.get(), session.stream.get(),
                                                    session.argument_count, session.arguments));
  return FromDnnl(dnnl_stream_wait(session.stream.get()));
}

}  // namespace

Status FromDnnl(dnnl_status_t status) {
  if (status == dnnl_success) return OkStatus();
  if (status == dnnl_out_of_memory) {
    return Status(StatusCode::kOutOfMemory, "oneDNN: out of memory");
  }
  return Status(StatusCode::kBackendFailure, "oneDNN: a call failed with its status {0}", status);
}

AlignedBuffer::~AlignedBuffer() { ::operator delete(data_, kAlignment, std::nothrow); }

Status AlignedBuffer::Allocate(size_t bytes) {
  data_ = ::operator new(bytes, kAlignment, std::nothrow);
  TENON_ENSURE(data_ != nullptr, kOutOfMemory, "{0} bytes for oneDNN's weights or scratch",
               static_cast<int64_t>(bytes));
  bytes_ = bytes;
  return OkStatus();
}

Status MakePrimitive(const KernelSetup& setup, const PrimitiveSpec& spec, void** shared) {
  auto* made = new (std::nothrow) Shared;
  TENON_ENSURE(made != nullptr, kOutOfMemory, "a oneDNN primitive");
  if (const Status status = FillShared(setup, spec, *made); !status.ok()) {
    delete made;
    return status;
  }
  *shared = made;
  return OkStatus();
}

void AddRest(void* shared, void* rest, int64_t input, int64_t output) {
  auto& first = *static_cast<Shared*>(shared);
  first.rest = static_cast<Shared*>(rest);
  first.rest_input = input;
  first.rest_output = output;
}

Status Open(const KernelSetup& setup, void* shared, void** state) {
  auto* session = new (std::nothrow) Session;
  TENON_ENSURE(session != nullptr, kOutOfMemory, "a oneDNN session");
  session->shared = static_cast<const Shared*>(shared);
  Status status = FillSession(setup, *session);
  if (status.ok() && session->shared->rest != nullptr) {
    KernelSetup rest = setup;
    rest.workspace_bytes = 0;  // both run at once: it has scratch of its own
    void* opened = nullptr;
    status = Open(rest, session->shared->rest, &opened);
    session->rest = static_cast<Session*>(opened);
  }
  if (!status.ok()) {
    Close(session);
    return status;
  }
  *state = session;
  return OkStatus();
}

Status Execute(const KernelCall& call) {
  const Session& session = *static_cast<const Session*>(call.state);
  if (session.rest == nullptr) return ExecuteOne(call, session, 0, 0);
  Status statuses[2];
  ParallelFor(call.parallel, 2, [&](int begin, int end) {
    for (int part = begin; part < end; ++part) {
      statuses[part] = part == 0 ? ExecuteOne(call, session, 0, 0)
                                 : ExecuteOne(call, *session.rest, session.shared->rest_input,
                                              session.shared->rest_output);
    }
  });
  TENON_RETURN_IF_ERROR(statuses[0]);
  return statuses[1];
}

void Close(void* state) {
  auto* session = static_cast<Session*>(state);
  delete session->rest;
  delete session;
}

void Unload(void* shared) {
  auto* first = static_cast<Shared*>(shared);
  delete first->rest;
  delete first;
}

size_t HeldBytes(const void* shared, const void* state) {
  size_t bytes = 0;
  for (const auto* part = static_cast<const Shared*>(shared); part != nullptr; part = part->rest) {
    bytes += sizeof *part + part->packed_weights.bytes();
  }
  for (const auto* part = static_cast<const Session*>(state); part != nullptr; part = part->rest) {
    bytes += sizeof *part + part->own_scratch.bytes() + part->own_weights.bytes();
  }
  return bytes;
}

Status MakeDesc(int rank, const dnnl_dim_t* dims, const dnnl_dim_t* strides,
                dnnl_memory_desc_t* desc) {
  return FromDnnl(dnnl_memory_desc_init_by_strides(desc, rank, dims, dnnl_f32, strides));
}

Status ChannelsLastDesc(const TensorView& view, dnnl_memory_desc_t* desc) {
  const dnnl_dims_t dims = {view.dims[0], view.dims[1], view.dims[2], view.dims[3]};
  return FromDnnl(dnnl_memory_desc_init_by_tag(desc, 4, dims, dnnl_f32, dnnl_nhwc));
}

Status AnyDesc(const dnnl_memory_desc_t& like, dnnl_memory_desc_t* desc) {
  return FromDnnl(
      dnnl_memory_desc_init_by_tag(desc, like.ndims, like.dims, dnnl_f32, dnnl_format_tag_any));
}

Status CheckChannelsLast(const TensorView& view) {
  TENON_ENSURE(view.IsChannelsLast(), kUnsupported,
               "oneDNN's kernel takes channels-last tensors without gaps");
  return OkStatus();
}

}  // namespace tenon::cpu::onednn
