// Puts the page together, and lets one op be chosen everywhere at once.
function drawSummary(parent) {
  const rows = [["board", data.board], ["plan", `${data.plan}, ${bytes(data.file_bytes)}, format ${data.format_version}`],
                ["ops", data.ops.length], ["constants", bytes(data.constants_bytes)]];
  if (data.figures) rows.push(["predicted latency", `${data.figures.latency_ms.toFixed(4)} ms`]);
  for (const arena of data.arenas) rows.push([`arena in ${arena.space}`, bytes(arena.bytes)]);
  for (const other of data.alternatives) {
    rows.push([other.what, other.unit === "ms" ? `${other.value.toFixed(4)} ms` : bytes(other.value)]);
  }
  const table = element(parent, "table");
  for (const [name, value] of rows) {
    const row = element(table, "tr");
    element(row, "th", {scope: "row"}, name);
    element(row, "td", {class: "number"}, String(value));
  }
}

const buttons = [];
function drawList(parent) {
  data.ops.forEach((op, i) => {
    const item = element(parent, "li");
    const button = element(item, "button", {type: "button"}, `${op.name} (${op.kind})`);
    button.dataset.op = i;
    buttons.push(button);
  });
}

drawSummary(document.getElementById("summary"));
const timeline = document.getElementById("timeline");
drawTimeline(timeline, "predicted", data.predicted);
drawTimeline(timeline, "measured", data.measured);
if (!timeline.firstChild) element(timeline, "p", {}, "The plan records no predicted times.");
data.arenas.forEach((arena, i) => drawMemory(document.getElementById("memory"), arena, i));
const graph = drawGraph(document.getElementById("graph"));
drawList(document.getElementById("ops"));
document.getElementById("title").textContent = `${data.plan} for ${data.board}`;

function choose(op) {
  document.querySelectorAll(".chosen").forEach((e) => e.classList.remove("chosen"));
  document.querySelectorAll(`rect[data-op="${op}"]`).forEach((e) => e.classList.add("chosen"));
  buttons.forEach((b, i) => b.setAttribute("aria-current", i === op));
  const why = document.getElementById("why");
  why.replaceChildren();
  for (const line of data.ops[op].why) element(why, "p", {}, line);
  graph.reveal(op);
}
document.addEventListener("click", (event) => {
  const op = event.target.dataset ? event.target.dataset.op : undefined;
  if (op !== undefined) choose(Number(op));
});

const search = document.getElementById("search");
function find() {
  const wanted = search.value.trim().toLowerCase();
  let count = 0;
  const hits = data.ops.map((op) => wanted !== "" &&
    [op.name, op.kind, op.kernel, op.backend, ...op.inputs, ...op.outputs].some((s) => s.toLowerCase().includes(wanted)));
  hits.forEach((hit, i) => {
    count += hit;
    buttons[i].parentElement.hidden = wanted !== "" && !hit;
  });
  document.querySelectorAll("rect[data-op]").forEach((e) => {
    e.classList.toggle("hit", hits[e.dataset.op]);
    e.classList.toggle("pale", wanted !== "" && !hits[e.dataset.op]);
  });
  document.getElementById("found").textContent = wanted === "" ? "" : `${count} ops`;
}
search.addEventListener("input", find);
search.addEventListener("keydown", (event) => {
  const first = buttons.findIndex((b) => !b.parentElement.hidden);
  if (event.key === "Enter" && first >= 0) { buttons[first].focus(); choose(first); }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
});
