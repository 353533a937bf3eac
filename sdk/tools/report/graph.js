// The mapped graph: a row for each depth, an edge for each tensor that an op reads from another.
const NODE_WIDTH = 120, NODE_HEIGHT = 26, GAP_X = 16, GAP_Y = 22;

function placeNodes() {
  const writer = new Map(), edges = [], depth = [];
  data.ops.forEach((op, i) => op.outputs.forEach((name) => writer.set(name, i)));
  data.ops.forEach((op, i) => {
    depth[i] = 0;
    for (const name of op.inputs) {
      const from = writer.get(name);
      if (from === undefined || from >= i) continue;
      edges.push([from, i, name]);
      depth[i] = Math.max(depth[i], depth[from] + 1);
    }
  });
  const rows = [];
  depth.forEach((d, i) => (rows[d] = rows[d] || []).push(i));
  const widest = Math.max(...rows.map((row) => row.length), 1), place = [];
  rows.forEach((row, d) => row.forEach((op, k) => {
    place[op] = {x: (k - row.length / 2 + widest / 2) * (NODE_WIDTH + GAP_X), y: d * (NODE_HEIGHT + GAP_Y)};
  }));
  return {edges, place, width: widest * (NODE_WIDTH + GAP_X), height: Math.max(rows.length, 1) * (NODE_HEIGHT + GAP_Y)};
}

function drawGraph(parent) {
  const {edges, place, width, height} = placeNodes();
  const svg = element(parent, "svg", {tabindex: 0, role: "application", "aria-label": "mapped graph"});
  for (const [from, to] of edges) {
    const a = place[from], b = place[to];
    element(svg, "line", {x1: a.x + NODE_WIDTH / 2, y1: a.y + NODE_HEIGHT, x2: b.x + NODE_WIDTH / 2, y2: b.y, class: "edge"});
  }
  data.ops.forEach((op, i) => {
    const {x, y} = place[i];
    const node = bar(svg, x, y, NODE_WIDTH, NODE_HEIGHT, colourOf(op.track), `${op.name}\n${op.kind} on ${op.track}\n${op.kernel}`, i);
    node.setAttribute("rx", 4);
    element(svg, "text", {x: x + 5, y: y + 17, "pointer-events": "none"}, op.name.length > 17 ? "…" + op.name.slice(-16) : op.name);
  });
  const all = {x: -20, y: -20, w: Math.max(width + 40, 600), h: Math.min(height + 40, 1600)};
  let view = {...all};
  const show = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  const zoom = (factor, cx = view.x + view.w / 2, cy = view.y + view.h / 2) => {
    view = {x: cx - (cx - view.x) * factor, y: cy - (cy - view.y) * factor, w: view.w * factor, h: view.h * factor};
    show();
  };
  const move = (dx, dy) => { view.x += dx * view.w; view.y += dy * view.h; show(); };
  const point = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = point(event);
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, at.x, at.y);
  }, {passive: false});
  let grabbed = null;
  svg.addEventListener("pointerdown", (event) => { grabbed = point(event); });
  addEventListener("pointerup", () => { grabbed = null; });
  svg.addEventListener("pointermove", (event) => {
    if (!grabbed) return;
    const at = point(event);
    view.x += grabbed.x - at.x; view.y += grabbed.y - at.y; show();
  });
  const keys = {"+": () => zoom(1 / 1.2), "=": () => zoom(1 / 1.2), "-": () => zoom(1.2), ArrowLeft: () => move(-.1, 0), ArrowRight: () => move(.1, 0),
                ArrowUp: () => move(0, -.1), ArrowDown: () => move(0, .1), 0: () => { view = {...all}; show(); }};
  svg.addEventListener("keydown", (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  show();
  return {reveal(op) { view.x = place[op].x + NODE_WIDTH / 2 - view.w / 2; view.y = place[op].y - view.h / 2; show(); }};
}
