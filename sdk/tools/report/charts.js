"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

function element(parent, name, attributes = {}, text = "") {
  const isSvg = parent.namespaceURI.endsWith("svg") || name === "svg";
  const made = isSvg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== "") made.textContent = text;
  parent.appendChild(made);
  return made;
}

// A colour for each name, far from its neighbours' on the wheel, readable on light and dark.
const colours = new Map();
function colourOf(name) {
  if (!colours.has(name)) colours.set(name, `hsl(${(colours.size * 137.5 + 210) % 360} 55% 55%)`);
  return colours.get(name);
}

const tip = document.getElementById("tip");
document.addEventListener("pointermove", (event) => {
  const text = event.target.dataset ? event.target.dataset.tip : "";
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 8) + "px";
});

const bytes = (n) => n < 10240 ? `${n} B` : n < 10485760 ? `${(n / 1024).toFixed(1)} KiB` : `${(n / 1048576).toFixed(1)} MiB`;
const time = (us) => us < 1000 ? `${us.toFixed(2)} us` : `${(us / 1000).toFixed(4)} ms`;

function bar(svg, x, y, width, height, fill, tipText, op) {
  const rect = element(svg, "rect", {x, y, width: Math.max(width, 0.4), height, fill, class: "bar"});
  rect.dataset.tip = tipText;
  if (op !== undefined) rect.dataset.op = op;
  return rect;
}

const WIDTH = 1000, LEFT = 110;

function timeRuler(svg, end, height, label) {
  for (let i = 0; i <= 5; ++i) {
    const x = LEFT + (WIDTH - LEFT - 10) * i / 5;
    element(svg, "line", {x1: x, x2: x, y1: 0, y2: height - 16, class: "edge"});
    element(svg, "text", {x, y: height - 4, "text-anchor": i === 5 ? "end" : "middle"}, label(end * i / 5));
  }
}

// One row per unit, worker or stage.
function drawTimeline(parent, title, bars) {
  if (bars.length === 0) return;
  const tracks = [...new Set(bars.map((b) => b.track))];
  const end = Math.max(...bars.map((b) => b.start + b.us), 1e-3), height = tracks.length * 28 + 20;
  element(parent, "p", {class: "hint"}, `${title}: ${time(end)}`);
  const svg = element(parent, "svg", {viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `${title} timeline`});
  timeRuler(svg, end, height, time);
  tracks.forEach((track, row) => element(svg, "text", {x: 4, y: row * 28 + 18}, track));
  for (const b of bars) {
    const op = data.ops[b.op], scale = (WIDTH - LEFT - 10) / end;
    bar(svg, LEFT + b.start * scale, tracks.indexOf(b.track) * 28 + 3, b.us * scale, 22, colourOf(op.kind),
        `${op.name}\n${op.kind}, ${op.backend}, ${op.kernel}\n${time(b.us)} from ${time(b.start)}`, b.op);
  }
}

// Offset against step, a rectangle for each storage while it lives.
function drawMemory(parent, arena, index) {
  const seen = new Set(), boxes = [];
  for (const tensor of data.tensors) {
    if (tensor.constant || tensor.arena !== index || tensor.first_step < 0) continue;
    if (seen.has(tensor.storage + ":" + tensor.offset)) continue;
    seen.add(tensor.storage + ":" + tensor.offset);
    boxes.push(tensor);
  }
  if (boxes.length === 0) return;
  const steps = data.ops.length, height = 240;
  element(parent, "p", {class: "hint"}, `${arena.space}: ${bytes(arena.bytes)}, no placement takes less than ${bytes(arena.lower_bound)}`);
  const svg = element(parent, "svg", {viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": `memory of ${arena.space}`});
  timeRuler(svg, steps, height, (step) => `step ${Math.round(step)}`);
  for (let i = 0; i <= 4; ++i) element(svg, "text", {x: 4, y: (height - 20) * (1 - i / 4) + (i === 4 ? 12 : 0)}, bytes(Math.round(arena.bytes * i / 4)));
  for (const t of boxes) {
    const x = (step) => LEFT + (WIDTH - LEFT - 10) * step / steps, y = (offset) => (height - 20) * (1 - offset / arena.bytes);
    bar(svg, x(t.first_step), y(t.offset + t.bytes), x(t.last_step + 1) - x(t.first_step), y(t.offset) - y(t.offset + t.bytes), colourOf(t.storage),
        `${t.name}\n${t.dtype} [${t.shape}] ${t.layout}\n${bytes(t.bytes)} at ${t.offset}, steps ${t.first_step} to ${t.last_step}`).dataset.tensor = t.name;
  }
}
