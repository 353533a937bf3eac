#include "converter/layout/grow_workspaces.hpp"

#include <algorithm>
#include <utility>

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "tests/unit/converter/layout/memory_testing.hpp"

namespace tenon::converter {
namespace {

int64_t BytesOf(const Graph& graph, const Op& op, bool least) {
  const OpCallView view(graph, op);
  const KernelCaps& caps = CapsOf(op);
  return static_cast<int64_t>(least ? caps.least_workspace_bytes(view.call())
                                    : caps.workspace_bytes(view.call(), 1));
}

struct Case {
  Located located;
  ArenaPlan arena;
};

/// The ops of quantized kinds on kernels that take more workspace or less: with the least.
Case InLeast(std::string_view text) {
  Case made{Locate(text), {}};
  Graph& graph = made.located.graph;
  for (const OpId id : graph.OpOrder()) {
    Op& op = graph.MutableOp(id);
    const OpCallView view(graph, op);
    for (const KernelCaps& caps : cpu::CortexMCaps("dsp")) {
      if (caps.kind != op.kind || caps.least_workspace_bytes == nullptr) continue;
      if (caps.supports(view.call()) != nullptr) continue;
      UseKernel(op, "cpu", caps);
      op.workspace_bytes = BytesOf(graph, op, /*least=*/true);
      break;
    }
  }
  ArenaOptions options;
  options.in_place = false;
  made.arena = PlanArena(graph, made.located.locations, options);
  return made;
}

void CheckApart(const ArenaPlan& arena) {
  for (const PlannedStorage& a : arena.storages) {
    CHECK(a.offset >= 0);
    CHECK(a.offset % 16 == 0);
    CHECK(a.offset + a.bytes <= arena.bytes);
    for (const PlannedStorage& b : arena.storages) {
      if (&a == &b || a.last_step < b.first_step || b.last_step < a.first_step) continue;
      const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
      CHECK(apart);
    }
  }
}

/// What each op's plan says of its workspace.
int64_t PlannedBytes(const ArenaPlan& arena, OpId id) {
  for (const PlannedStorage& storage : arena.storages) {
    if (storage.workspace_of == id) return storage.bytes;
  }
  return 0;
}

constexpr const char* kConvs = R"(
input %x: i8[1,64,10,10]
const %w: i8[64,64,1,1] = random(1)
const %m: f32[1] = [0.01]
%y = quantized_conv(%x, %w, _, %m)
%z = quantized_conv(%y, %w, _, %m)
)";
constexpr const char* kSum = "%s = quantized_binary(%y, %z) {function=add}\noutput %s\n";

TEST_CASE("GrowWorkspaces: gives ops what their kernels like where the arena has it free") {
  // The first op needs much more than the others.
  Case made = InLeast(std::string("graph g\ninput %f: f32[10000]\n%g = unary(%f) {function=exp}\n"
                                  "output %g") +
                      kConvs + kSum);
  const int64_t before = made.arena.bytes;
  CHECK(GrowWorkspaces(made.located.graph, made.located.locations, made.arena) == 3);
  CHECK(made.arena.bytes == before);
  CheckApart(made.arena);
  const Graph& graph = made.located.graph;
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (op.kind == OpKind::kUnary) continue;
    CHECK(op.workspace_bytes == BytesOf(graph, op, /*least=*/false));
    CHECK(op.workspace_bytes > BytesOf(graph, op, /*least=*/true));
    CHECK(PlannedBytes(made.arena, id) == op.workspace_bytes);
  }
}

TEST_CASE("GrowWorkspaces: lets the arena grow as far as it may, and no further than is wanted") {
  Case made = InLeast(std::string("graph g") + kConvs + "output %z\n");
  const int64_t before = made.arena.bytes;
  Case wide = InLeast(std::string("graph g") + kConvs + "output %z\n");
  GrowWorkspaces(made.located.graph, made.located.locations, made.arena, {before + 100});
  CHECK(made.arena.bytes > before);
  CHECK(PaddedBytes(made.arena.bytes) <= before + 100);  // as limits count it
  CheckApart(made.arena);
  GrowWorkspaces(wide.located.graph, wide.located.locations, wide.arena, {1 << 20});
  CHECK(wide.arena.bytes > before + 100);
  CHECK(wide.arena.bytes < 1 << 20);
  CheckApart(wide.arena);
  const Graph& graph = wide.located.graph;
  for (const OpId id : graph.OpOrder()) {
    CHECK(graph.op(id).workspace_bytes == BytesOf(graph, graph.op(id), /*least=*/false));
  }
}

/// Two convolutions, of which each makes a half of an output, which a sum reads.
constexpr const char* kHalves = R"(
const %w: i8[64,64,1,1] = random(1)
const %m: f32[1] = [0.01]
%x0 = slice(%x) {begins=[0,0,0,0], sizes=[1,64,10,10], steps=[1,1,1,1]}
%y0 = quantized_conv(%x0, %w, _, %m)
%x1 = slice(%x) {begins=[1,0,0,0], sizes=[1,64,10,10], steps=[1,1,1,1]}
%y1 = quantized_conv(%x1, %w, _, %m)
%y = concat(%y0, %y1) {axis=0}
%s = quantized_binary(%y, %y) {function=add}
)";

/// Returns of an op's workspace how many bytes lie on a tensor's storage, from `begin` to `end`.
int64_t BytesOn(const Case& made, std::string_view op, std::string_view tensor, int64_t begin,
                int64_t end) {
  const OpId id = made.located.graph.tensor(made.located.Id(op)).producer;
  const TensorId root = made.located.At(tensor).root;
  int64_t bytes = 0;
  for (const PlannedStorage& a : made.arena.storages) {
    for (const PlannedStorage& b : made.arena.storages) {
      if (a.workspace_of != id || b.root != root || b.workspace_of != kNone) continue;
      bytes += std::max<int64_t>(
          0, std::min(a.offset + a.bytes, b.offset + end) - std::max(a.offset, b.offset + begin));
    }
  }
  return bytes;
}

TEST_CASE("GrowWorkspaces: over parts, on what is not written yet or not read any more") {
  const std::string head = "graph g\ninput %x: i8[2,64,10,10]\n";
  Case made = InLeast(head + kHalves + "output %s\n");
  GrowWorkspaces(made.located.graph, made.located.locations, made.arena, {0, true});
  // The first op works before the second half of the output, the other behind the first of x.
  CHECK(BytesOn(made, "y0", "y", 6400, 12800) > 0);
  CHECK(BytesOn(made, "y0", "y", 0, 6400) == 0);
  CHECK(BytesOn(made, "y0", "x", 0, 12800) == 0);
  CHECK(BytesOn(made, "y1", "x", 0, 6400) > 0);
  CHECK(BytesOn(made, "y1", "x", 6400, 12800) == 0);
  CHECK(BytesOn(made, "y1", "y", 0, 12800) == 0);

  // What an output of the graph or the next run needs stays.
  for (const char* const ends : {"output %s\noutput %x\n", "output %s\nstate \"x\" = \"s\"\n"}) {
    Case kept = InLeast(head + kHalves + ends);
    GrowWorkspaces(kept.located.graph, kept.located.locations, kept.arena, {0, true});
    CHECK(BytesOn(kept, "y1", "x", 0, 12800) == 0);
  }
}

TEST_CASE("GrowWorkspaces: over parts, turns with a storage are taken one way round") {
  // While b works the first half of y has been read, and the second has yet to be written.
  Case made = InLeast(R"(graph g
input %x: i8[1,64,10,10]
const %w: i8[64,64,1,1] = random(1)
const %m: f32[1] = [0.01]
%y0 = quantized_conv(%x, %w, _, %m)
%a = quantized_binary(%y0, %y0) {function=add}
%b = quantized_conv(%a, %w, _, %m)
%y1 = quantized_binary(%b, %b) {function=add}
%y = concat(%y0, %y1) {axis=0}
%t = slice(%y) {begins=[1,0,0,0], sizes=[1,64,10,10], steps=[1,1,1,1]}
%s = quantized_binary(%t, %t) {function=add}
output %s
)");
  GrowWorkspaces(made.located.graph, made.located.locations, made.arena, {0, true});
  CHECK(BytesOn(made, "b", "y", 6400, 12800) > 0);
  CHECK(BytesOn(made, "b", "y", 0, 6400) == 0);
}

TEST_CASE("FindCrampedWorkspaces: what would be free if it lay side by side") {
  Case made = InLeast(
      "graph g\ninput %x: i8[1,64,10,10]\nconst %w: i8[64,64,1,1] = random(1)\n"
      "const %m: f32[1] = [0.01]\n%y = quantized_conv(%x, %w, _, %m)\noutput %y\n");
  const Graph& graph = made.located.graph;
  const OpId id = made.arena.steps.front();
  const int64_t least = BytesOf(graph, graph.op(id), /*least=*/true);
  REQUIRE(least % kStorageAlignment == 0);
  constexpr int64_t kGap = 640;
  int64_t end = kGap;  // the tensors, then the workspace
  for (const bool is_workspace : {false, true}) {
    for (PlannedStorage& storage : made.arena.storages) {
      if ((storage.workspace_of == id) != is_workspace) continue;
      storage.offset = end;
      end += storage.bytes;
    }
  }
  made.arena.bytes = end;
  const auto cramped = [&](const WorkspaceRoom& room) {
    return FindCrampedWorkspaces(graph, made.located.locations, made.arena, room);
  };
  REQUIRE(cramped({}).size() == 1);
  CHECK(cramped({}).front().op == id);
  CHECK(cramped({}).front().bytes == kGap + least);
  CHECK(cramped({end + kStorageAlignment}).front().bytes == kGap + least + kStorageAlignment);
  const int64_t wanted = BytesOf(graph, graph.op(id), /*least=*/false);
  CHECK(cramped({1 << 20}).front().bytes == wanted);
  made.located.graph.MutableOp(id).workspace_bytes = wanted;
  CHECK(cramped({1 << 20}).empty());
}

TEST_CASE("GrowWorkspaces: over parts, not where ops start together") {
  Case made = InLeast(std::string("graph g\ninput %x: i8[2,64,10,10]\n") + kHalves + "output %s\n");
  made.arena.groups = {{made.located.graph.tensor(made.located.Id("y0")).producer,
                        made.located.graph.tensor(made.located.Id("y1")).producer}};
  GrowWorkspaces(made.located.graph, made.located.locations, made.arena, {0, true});
  CHECK(BytesOn(made, "y0", "y", 0, 12800) == 0);
  CHECK(BytesOn(made, "y1", "x", 0, 12800) == 0);
}

TEST_CASE("PlaceWorkspaces: over parts, as low as they fit") {
  Case made = InLeast(std::string("graph g\ninput %x: i8[2,64,10,10]\n") + kHalves + "output %s\n");
  const int64_t bytes =
      PlaceWorkspacesOverParts(made.located.graph, made.located.locations, made.arena);
  CHECK(bytes <= made.arena.bytes);
  CHECK(BytesOn(made, "y0", "y", 0, 6400) == 0);
  CHECK(BytesOn(made, "y0", "x", 0, 12800) == 0);
  CHECK(BytesOn(made, "y1", "x", 6400, 12800) == 0);
  CHECK(BytesOn(made, "y1", "y", 0, 12800) == 0);
}

TEST_CASE("GrowWorkspaces: leaves the arena as it is where it is full") {
  Case made = InLeast(std::string("graph g") + kConvs + "output %z\n");
  const int64_t before = made.arena.bytes;
  GrowWorkspaces(made.located.graph, made.located.locations, made.arena);
  CHECK(made.arena.bytes == before);
  CheckApart(made.arena);
  const Graph& graph = made.located.graph;
  const OpId full = graph.tensor(made.located.Id("z")).producer;
  CHECK(graph.op(full).workspace_bytes == PlannedBytes(made.arena, full));
  CHECK(graph.op(full).workspace_bytes < BytesOf(graph, graph.op(full), /*least=*/false));
}

TEST_CASE("GrowWorkspaces: an arena whose size is no multiple of an alignment keeps it") {
  Case made = InLeast(std::string("graph g") + kConvs + "output %z\n");
  const OpId last = made.arena.steps.back();
  for (PlannedStorage& storage : made.arena.storages) {
    if (storage.workspace_of != last) continue;
    storage.offset = PaddedBytes(made.arena.bytes);
    made.arena.bytes = storage.offset + storage.bytes + 24;  // which are free
  }
  const int64_t before = made.arena.bytes;
  GrowWorkspaces(made.located.graph, made.located.locations, made.arena);
  CHECK(made.arena.bytes == before);
  CheckApart(made.arena);
}

}  // namespace
}  // namespace tenon::converter
