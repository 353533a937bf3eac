"""tenon explain, report and diff: what a plan is, and where two runs part."""
import json
import random
import re
import shutil
import subprocess
import sys
import unittest

import cli_test
from cli_test import BOARD, npy, onnx
from forged_plans import with_record

LAYERS = 6


def values(source, count):
    return [source.uniform(-1, 1) for _ in range(count)]


def layers(weights):
    """A chain of convolutions 1x1 on 4 channels with Relu, named layer_0 and so on."""
    nodes, initializers, last = [], [], "x"
    for i, weight in enumerate(weights):
        nodes += [onnx.node("Conv", [last, f"w{i}"], [f"c{i}"], f"layer_{i}", kernel_shape=[1, 1]),
                  onnx.node("Relu", [f"c{i}"], [f"r{i}"], f"relu_{i}")]
        initializers.append(onnx.tensor(f"w{i}", [4, 4, 1, 1], weight))
        last = f"r{i}"
    return onnx.model(nodes, [onnx.value("x", [1, 4, 6, 6])], [onnx.value(last, [1, 4, 6, 6])], initializers)


def good_weights():
    source = random.Random(7)
    return [[abs(v) for v in values(source, 16)] for _ in range(LAYERS)]


class See(cli_test.CliTest):
    def setUp(self):
        super().setUp()
        self.write("net.onnx", layers(good_weights()))
        self.convert("net.onnx", "net.tenon", "--fuse", "on")
        self.plan = json.loads(self.done("inspect", "net.tenon", "--json"))


class Explain(See):
    def test_an_op_is_explained_by_name_and_by_number(self):
        name = self.plan["ops"][2]["name"]
        text = self.done("explain", "net.tenon", name)
        self.assertEqual(text, self.done("explain", "net.tenon", "2"))
        self.assertTrue(text.startswith(f"{name}: "), text)

    def test_it_says_backend_kernel_tensors_candidates_cost_and_order(self):
        op = next(op for op in self.plan["ops"] if op["name"] == "layer_0")
        text = self.done("explain", "net.tenon", "layer_0")
        self.assertIn(f"runs on {op['backend']} by {op['kernel']}", text)
        self.assertIn(f"reads {op['inputs'][0]}: f32 1x4x6x6", text)
        self.assertRegex(text, r"predicted: starts at \d+\.\d+ ms, takes \d+\.\d+ ms; the whole")
        mapped = next(m for m in self.plan["decisions"]["mapping"] if m["op"] == op["name"])
        for candidate in mapped["candidates"]:
            self.assertIn(f"candidate {candidate['backend']}", text)
        self.assertEqual(text.count(": chosen"), 1)
        self.assertIn("order: ", text)

    def test_an_op_that_is_not_there_is_answered_with_the_one_that_was_meant(self):
        name = self.plan["ops"][0]["name"]
        self.assertIn(f"did you mean '{name}'?", self.fails(2, "explain", "net.tenon", name + "x"))
        self.assertIn("has no op '99'", self.fails(2, "explain", "net.tenon", "99"))

    def test_the_record_is_what_json_says_and_is_left_out_on_request_and_for_firmware(self):
        self.convert("net.onnx", "net.tenon", "--json", "d.json")
        recorded = json.loads(self.done("inspect", "net.tenon", "--json"))["decisions"]
        self.assertEqual(recorded, json.loads((self.folder / "d.json").read_text()))
        self.convert("net.onnx", "bare.tenon", "--decisions", "off")
        whole, bare = ((self.folder / name).read_bytes() for name in ("net.tenon", "bare.tenon"))
        self.assertTrue(whole.startswith(bare[:len(bare)]))
        self.assertIn("records no decisions", self.done("explain", "bare.tenon", "0"))
        self.done("convert", "net.onnx", "-o", "net.S", "--emit", "c", "--board", "cortex-m55")
        self.assertIsNone(json.loads(self.done("inspect", "net.tenon", "--json"))["decisions"])

    def test_a_damaged_record_is_refused_and_the_plan_still_runs(self):
        data = bytearray((self.folder / "net.tenon").read_bytes())
        data[-5] ^= 1
        self.write("damaged.tenon", bytes(data))
        self.assertIn("record of decisions is damaged", self.fails(3, "explain", "damaged.tenon", "0"))
        self.done("run", "damaged.tenon", "--zeros")

    def other_record(self, text):
        self.write("other.tenon", with_record((self.folder / "net.tenon").read_bytes(), text))

    def test_records_of_other_forms_are_told_of_or_read_as_far_as_they_go(self):
        recorded = self.plan["decisions"]
        forms = [{}, [], 1, "text"]
        for key in recorded:
            forms += [{k: v for k, v in recorded.items() if k != key}]
            forms += [{**recorded, key: other} for other in (1, [], [1])]
        forms.append({**recorded, "time": {**recorded["time"], "op_ms": ["1"] * len(self.plan["ops"])}})
        told = "record of decisions is damaged, or of another version"
        for form in forms:
            self.other_record(json.dumps(form))
            for command in [("explain", "other.tenon", "layer_0"), ("report", "other.tenon", "-o", "r.html")]:
                done = self.tenon(*command)
                self.assertIn(done.returncode, (0, 3), (command[0], json.dumps(form)[:100], done.stderr))
                self.assertEqual(told in done.stderr.decode(), done.returncode == 3)
        self.other_record("{}")
        self.assertIn(told, self.fails(3, "explain", "other.tenon", "layer_0"))

    def test_a_record_of_great_depth_is_refused(self):
        self.other_record("[" * 5000 + "]" * 5000)
        for command in [("explain", "other.tenon", "0"), ("inspect", "other.tenon", "--json")]:
            self.assertIn("record of decisions is damaged", self.fails(3, *command))


class Report(See):
    def test_the_predicted_trace_has_the_tracks_and_ops_of_the_measured_one(self):
        self.done("run", "net.tenon", "--zeros", "--trace", "m.json")
        self.done("report", "net.tenon", "--trace", "p.json")
        measured, predicted = (json.loads((self.folder / name).read_text())["traceEvents"] for name in ("m.json", "p.json"))
        for kind in ("thread_name", None):
            picked = [[(e["args"].get("name"), e.get("tid")) if kind else (e["name"], e["cat"], e["args"]) for e in events
                       if (e["name"] == kind if kind else e["ph"] == "X")] for events in (measured, predicted)]
            self.assertEqual(*picked)
        total = sum(e["dur"] for e in predicted if e["ph"] == "X")
        self.assertLessEqual(total, 1e3 * self.plan["decisions"]["predicted"]["latency_ms"] * 1.001)

    def test_a_plan_without_decisions_has_a_page_and_no_predicted_trace(self):
        self.convert("net.onnx", "bare.tenon", "--decisions", "off")
        for outputs in [["--trace", "p.json"], ["--trace", "p.json", "-o", "page.html"]]:
            text = self.fails(3, "report", "bare.tenon", *outputs)
            self.assertIn("records no predicted times: it was made for firmware, by an older version, or with --decisions=off", text)
        self.done("report", "bare.tenon", "-o", "page.html")
        data = json.loads(re.search(r'id="data">(.*?)</script>', (self.folder / "page.html").read_text(), re.S).group(1))
        self.assertEqual([len(data["ops"]), data["predicted"], data["figures"]], [len(self.plan["ops"]), [], None])

    def page(self, *options):
        self.done("report", "net.tenon", "-o", "page.html", *options)
        return (self.folder / "page.html").read_text()

    def test_the_page_holds_all_and_fetches_nothing(self):
        page = self.page()
        self.assertIsNone(re.search(r"""(src|href)\s*=|@import|fetch\(|XMLHttpRequest""", page))
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))
        self.assertEqual([op["name"] for op in data["ops"]], [op["name"] for op in self.plan["ops"]])
        self.assertEqual(data["figures"], self.plan["decisions"]["predicted"])
        self.assertEqual(len(data["predicted"]), len(self.plan["ops"]))
        for i, op in enumerate(data["ops"]):
            self.assertEqual(op["why"], self.done("explain", "net.tenon", str(i)).splitlines())

    def test_measured_times_come_from_a_trace_and_from_nothing_else(self):
        self.done("run", "net.tenon", "--zeros", "--trace", "m.json")
        data = json.loads(re.search(r'id="data">(.*?)</script>', self.page("--measured", "m.json"), re.S).group(1))
        self.assertEqual([bar["op"] for bar in data["measured"]], list(range(len(self.plan["ops"]))))
        self.write("other.json", b"{}")
        text = (self.folder / "m.json").read_text()
        deep = re.sub(r'"ts":[^,]*', '"ts":' + "[" * 100000 + "]" * 100000, text, count=1)
        self.assertNotEqual(deep, text)
        self.write("deep.json", deep.encode())
        for name in ["other.json", "deep.json", "x.npy", "missing"]:
            self.fails(3, "report", "net.tenon", "-o", "no.html", "--measured", name)
        self.fails(2, "report", "net.tenon")

    def test_a_name_with_markup_stays_a_name(self):
        self.converts_model(cli_test.relu([1, 4], ["</script><b>"]))
        self.done("report", "model.tenon", "-o", "page.html")
        self.assertNotIn("<b>", (self.folder / "page.html").read_text())

    def test_a_browser_shows_it_without_errors_and_finds_what_is_searched(self):
        browser = shutil.which("chromium")
        if browser is None:
            self.skipTest("chromium is not installed")
        page = self.page()
        probe = """<script>
addEventListener("error", (e) => { document.title = "ERROR " + e.message; });
addEventListener("load", () => {
  const search = document.getElementById("search");
  search.value = data.ops[3].name; search.dispatchEvent(new Event("input"));
  document.querySelector('#timeline rect[data-op="3"]').dispatchEvent(new MouseEvent("click", {bubbles: true}));
  const bar = document.querySelector("#memory rect");
  bar.dispatchEvent(new PointerEvent("pointermove", {bubbles: true}));
  const out = [document.getElementById("found").textContent, document.getElementById("why").firstChild.textContent,
               document.querySelectorAll("#graph rect").length, document.querySelectorAll("#memory rect").length,
               document.querySelectorAll("#ops li:not([hidden])").length, tip.hidden, tip.textContent];
  document.body.dataset.probe = JSON.stringify(out);
});
</script></head>"""
        self.write("probe.html", page.replace("</head>", probe, 1).encode())
        shown = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                                (self.folder / "probe.html").as_uri()], capture_output=True, text=True, timeout=120).stdout
        self.assertNotIn("<title>ERROR", shown)
        found = re.search(r'data-probe="([^"]*)"', shown)
        self.assertIsNotNone(found, shown[-2000:])
        probed = json.loads(found.group(1).replace("&quot;", '"').replace("&lt;", "<").replace("&amp;", "&"))
        name = self.plan["ops"][3]["name"]
        self.assertEqual(probed[0], "1 ops")
        self.assertTrue(probed[1].startswith(f"{name}: "), probed[1])
        self.assertEqual(probed[2], len(self.plan["ops"]))
        self.assertGreater(probed[3], 2)
        self.assertEqual(probed[4], 1)
        self.assertFalse(probed[5])
        self.assertIn("steps", probed[6])


class ConvertReport(See):
    def test_convert_writes_the_page_that_report_writes(self):
        self.convert("net.onnx", "again.tenon", "--report", "one.html")
        self.done("report", "again.tenon", "-o", "two.html")
        self.assertEqual((self.folder / "one.html").read_bytes(), (self.folder / "two.html").read_bytes())

    def test_a_page_that_cannot_be_written_leaves_neither_plan_nor_trace(self):
        for page in ["/dev/full", ".", "missing/page.html"]:
            self.fails(5, "convert", "net.onnx", "-o", "new.tenon", *BOARD, "--report", page)
            self.fails(5, "report", "net.tenon", "-o", page, "--trace", "new.json")
        self.assertEqual([path.name for path in self.folder.glob("new*")], [])

    def test_a_plan_that_goes_to_a_device_has_a_page(self):
        self.done("convert", "net.onnx", "-o", "/dev/null", *BOARD, "--report", "page.html")
        self.assertIn("layer_0", (self.folder / "page.html").read_text())

    def test_c_source_has_no_page(self):
        self.fails(2, "convert", "net.onnx", "-o", "net.c", *BOARD, "--emit=c", "--report", "page.html")


class Balance(See):
    def rounds(self, mode):
        self.convert("net.onnx", "pipeline.tenon", "--objective=throughput", "--threads=2",
                     "--parallel=pipeline", f"--balance={mode}", "--json", "report.json")
        pipeline = json.loads((self.folder / "report.json").read_text())["parallel"]["pipeline"]
        self.assertEqual(len(pipeline["stages"]), 2)
        balance = pipeline["balance"]
        times = [stage["ms"] for stage in pipeline["stages"]]
        self.assertAlmostEqual(balance["rate"], min(times) / max(times), places=6)
        kept = balance["rounds"][balance["kept_round"]]
        self.assertEqual(kept["period_ms"], pipeline["period_ms"])
        self.assertTrue(all(kept["period_ms"] <= tried["period_ms"] for tried in balance["rounds"]))
        return len(balance["rounds"])

    def test_a_pipeline_is_cut_again_unless_told_otherwise_and_the_report_has_every_cut(self):
        self.assertEqual(self.rounds("off"), 1)
        self.assertGreater(self.rounds("auto"), 1)


class Branches(See):
    """y = softmax(x) where `flag` is true, and sin(x) where it is not."""

    def setUp(self):
        super().setUp()
        nodes = [onnx.node("Softmax", ["x"], ["e"], "soft"), onnx.node("Sin", ["x"], ["s"], "sin"),
                 onnx.node("Where", ["flag", "e", "s"], ["y"], "choose")]
        inputs = [onnx.value("flag", [1], onnx.BOOL), onnx.value("x", [1, 64])]
        self.write("branches.onnx", onnx.model(nodes, inputs, [onnx.value("y", [1, 64])]))
        self.convert("branches.onnx", "branches.tenon")
        for flag in (0, 1):
            self.write(f"flag{flag}.npy", npy((1,), [], "|b1") + bytes([flag]))

    def test_bench_takes_the_inputs_that_decide_what_runs(self):
        for flag, runs, rests in [(1, "soft", "sin"), (0, "sin", "soft")]:
            self.done("bench", "branches.tenon", "--iterations", "40", "--input", f"flag=flag{flag}.npy",
                      "--per-op", "--json", "b.json")
            times = {op["name"]: op["ms"] for op in json.loads((self.folder / "b.json").read_text())["ops"]}
            self.assertEqual(times[rests], 0)
            self.assertGreater(times[runs], 0)
        self.assertIn("no input 'flog'", self.fails(2, "bench", "branches.tenon", "--input", "flog=flag0.npy"))

    def test_the_branch_that_takes_longer_is_what_is_predicted(self):
        plan = json.loads(self.done("inspect", "branches.tenon", "--json"))
        times = dict(zip([op["name"] for op in plan["ops"]], plan["decisions"]["time"]["op_ms"]))
        self.assertNotEqual(times["soft"], times["sin"])
        self.assertAlmostEqual(plan["decisions"]["predicted"]["latency_ms"],
                               max(times["soft"], times["sin"]) + times["choose"], places=6)

    def test_explain_says_when_an_op_runs(self):
        self.assertIn("runs where flag is true, and is passed over in other runs",
                      self.done("explain", "branches.tenon", "soft"))
        self.assertIn("runs where flag is false", self.done("explain", "branches.tenon", "sin"))
        self.assertNotIn("runs where", self.done("explain", "branches.tenon", "choose"))

    def test_no_order_moves_what_chooses_behind_a_branch(self):
        nodes, weights = [onnx.node("ReduceMean", ["x"], ["m"], "mean", keepdims=0, axes=[0, 1, 2, 3]),
                          onnx.node("Greater", ["m", "zero"], ["g"], "chooses")], [onnx.tensor("zero", [], [0.0])]
        for name, channels in [("wide", 37), ("narrow", 5)]:
            nodes += [onnx.node("Conv", ["x", f"{name}.w"], [f"{name}.c"], name, kernel_shape=[3, 3], pads=[1] * 4),
                      onnx.node("Conv", [f"{name}.c", f"{name}.v"], [f"{name}.o"], f"{name}.last")]
            weights += [onnx.tensor(f"{name}.w", [channels, 3, 3, 3], [0.1] * 27 * channels),
                        onnx.tensor(f"{name}.v", [7, channels, 1, 1], [0.1] * 7 * channels)]
        nodes.append(onnx.node("Where", ["g", "wide.o", "narrow.o"], ["y"], "choose"))
        self.write("late.onnx", onnx.model(nodes, [onnx.value("x", [1, 3, 33, 61])],
                                           [onnx.value("y", [1, 7, 33, 61])], weights))
        for options in [(), ("--order=random", "--seed", "5"), ("--objective=memory",)]:
            self.convert("late.onnx", "late.tenon", *options)
            ops = json.loads(self.done("inspect", "late.tenon", "--json"))["ops"]
            convolutions = [op for op in ops if op["kind"] == "conv"]  # whole, or in patches
            self.assertGreaterEqual(len(convolutions), 4)
            for op in convolutions:
                self.assertEqual(op["condition"]["runs_if"], op["name"].startswith("wide"), op["name"])

    def test_diff_compares_what_this_run_computes(self):
        self.convert("branches.onnx", "other.tenon", "--fuse", "off")
        self.write("x.npy", npy((1, 64), [0.1] * 64))
        for flag, runs, rests in [(1, "e", "s"), (0, "s", "e")]:
            text = self.done("diff", "branches.tenon", "other.tenon", "--all", "--input",
                             f"flag=flag{flag}.npy", "--input", "x=x.npy")
            self.assertRegex(text, rf"(?m)\b{runs}\b")
            self.assertNotRegex(text, rf"(?m)\b{rests}\b")


class BenchPerOp(See):
    def bench(self, *options):
        text = self.done("bench", "net.tenon", "--iterations", "40", "--per-op", "--json", "b.json", *options)
        return text, json.loads((self.folder / "b.json").read_text())

    def test_the_medians_of_the_ops_and_what_is_between_them_add_up_to_the_whole(self):
        _, figures = self.bench()
        self.assertEqual([op["name"] for op in figures["ops"]], [op["name"] for op in self.plan["ops"]])
        total = sum(op["ms"] for op in figures["ops"]) + figures["between_ops_ms"]
        self.assertAlmostEqual(total, figures["ops_whole_ms"], places=9)
        self.assertLess(figures["between_ops_ms"], figures["ops_whole_ms"])

    def test_each_op_has_what_was_predicted_beside_what_was_measured(self):
        _, figures = self.bench()
        predicted = [op["predicted_ms"] for op in figures["ops"]]
        self.assertEqual(predicted, self.plan["decisions"]["time"]["op_ms"])
        self.assertGreaterEqual(len(predicted), LAYERS)
        # One unit runs them one after the other.
        self.assertAlmostEqual(sum(predicted), self.plan["decisions"]["predicted"]["latency_ms"], places=6)
        self.convert("net.onnx", "net.tenon", "--decisions", "off")
        _, figures = self.bench()
        self.assertEqual({op["predicted_ms"] for op in figures["ops"]}, {None})

    def test_the_table_begins_with_the_op_that_takes_longest_and_ends_with_the_whole(self):
        text, figures = self.bench()
        rows = text[text.index("median ms"):].splitlines()[1:]
        times = [float(row.split()[0]) for row in rows]
        ops = times[:-2]
        self.assertEqual(len(ops), len(self.plan["ops"]))
        self.assertEqual(ops, sorted(ops, reverse=True))
        self.assertIn("between ops", rows[-2])
        self.assertAlmostEqual(times[-1], figures["ops_whole_ms"], places=3)


class Diff(See):
    def first(self, *arguments, status=1):
        result = self.tenon("diff", *arguments, "--json", "diff.json")
        self.assertEqual(result.returncode, status, result.stderr.decode() + result.stdout.decode())
        return json.loads((self.folder / "diff.json").read_text())["first"]

    def test_a_plan_does_not_part_from_itself_its_portable_kernels_or_its_model(self):
        self.assertIsNone(self.first("net.tenon", "net.tenon", status=0))
        self.assertIsNone(self.first("net.tenon", "net.onnx", status=0))
        compared = json.loads((self.folder / "diff.json").read_text())["tensors"]
        self.assertGreaterEqual(len(compared), LAYERS)

    def test_a_plan_with_states_and_other_images_does_not_part_from_its_model(self):
        nodes = [onnx.node("Add", ["x", "h"], ["h2"], "sum"), onnx.node("Add", ["x", "k"], ["k2"], "more"),
                 onnx.node("Mul", ["h2", "k2"], ["y"], "product")]
        ports = [onnx.value(name, [1, 4]) for name in ("x", "h", "k", "y", "h2", "k2")]
        self.write("state.onnx", onnx.model(nodes, ports[:3], ports[3:]))
        ties = ["--state", "h2=h", "--state", "k2=k"]
        self.convert("state.onnx", "state.tenon", *ties)
        self.assertEqual(json.loads(self.done("inspect", "state.tenon", "--json"))["options"]["state"], ties[1::2])
        self.assertIn("option state = h2=h\noption state = k2=k\n", self.done("inspect", "state.tenon"))
        self.assertIsNone(self.first("state.tenon", "state.onnx", status=0))
        self.convert("net.onnx", "u8.tenon", "--input-format", "x=u8,nhwc,scale=0.1")
        self.assertIsNone(self.first("u8.tenon", "net.onnx", status=0))
        self.write("k.npy", npy((1, 4), [1.0] * 4))
        self.convert("state.onnx", "frozen.tenon", "--freeze", "k=k.npy")
        self.assertIn("the model has the input 'k' (--freeze)", self.fails(2, "diff", "frozen.tenon", "state.onnx"))

    def test_a_plan_alone_is_compared_with_itself_by_the_portable_kernels(self):
        self.assertIsNone(self.first("net.tenon", status=0))
        report = json.loads((self.folder / "diff.json").read_text())
        self.assertEqual(report["unseen_ops"], 0)
        self.assertEqual(report["not_compared"], 0)
        self.assertGreaterEqual(len(report["tensors"]), len(self.plan["ops"]))

    def test_inside_a_segment_of_an_opencl_device_every_op_is_compared(self):
        self.convert_for("x86-64-opencl", "device.tenon", "--map", "*=opencl")
        if self.tenon("run", "device.tenon", "--zeros").returncode == 5:
            self.skipTest("no OpenCL in this build or on this machine")
        ops = json.loads(self.done("inspect", "device.tenon", "--json"))["ops"]
        for others in [[], ["net.tenon"], ["net.onnx"]]:
            self.assertIsNone(self.first("device.tenon", *others, status=0))
            report = json.loads((self.folder / "diff.json").read_text())
            self.assertEqual(report["unseen_ops"], 0)
            self.assertGreaterEqual({t["op"] for t in report["tensors"]}, {op["name"] for op in ops})
        weights = good_weights()
        weights[3][5] *= 2
        self.write("bad.onnx", layers(weights))
        self.assertIn("layer_3", self.first("device.tenon", "bad.onnx"))

    def convert_for(self, board, plan, *options):
        self.done("convert", "net.onnx", "-o", plan, "--board", board, *options)

    def test_the_op_whose_weights_are_wrong_is_named_every_time(self):
        source = random.Random(11)
        for _ in range(30):
            layer, place = source.randrange(LAYERS), source.randrange(16)
            weights = good_weights()
            weights[layer][place] *= source.choice([0, 1.01, 0.5, 2])
            self.write("bad.onnx", layers(weights))
            self.convert("bad.onnx", "bad.tenon")
            named = self.first("bad.tenon", source.choice(["net.tenon", "net.onnx"]))
            self.assertEqual(named, self.plan["ops"][self.op_of(layer)]["name"], (layer, place))

    def op_of(self, layer):
        names = [op["name"] for op in self.plan["ops"]]
        return next(i for i, name in enumerate(names) if f"layer_{layer}" in name)

    def test_an_array_that_an_op_should_have_given_is_compared(self):
        self.done("run", "net.tenon", "--zeros", "--output-dir", "out")
        output = self.plan["outputs"][0]["name"]
        self.write("x.npy", npy("(1, 4, 6, 6)", [0.0] * 144))
        expect = f"{output}=out/{output}.npy"
        self.assertIsNone(self.first("net.tenon", "--input", "x=x.npy", "--expect", expect, status=0))
        self.write("ones.npy", npy("(1, 4, 6, 6)", [1.0] * 144))
        self.first("net.tenon", "--input", "x=ones.npy", "--expect", expect)

    def test_wrong_use_is_answered(self):
        self.fails(2, "diff")
        self.fails(2, "diff", "net.tenon", "net.tenon", "--expect", "y=x.npy")
        self.write("x.npy", npy("(2, 2)", [0.0] * 4))
        self.assertIn("compare with 'nothing'", self.fails(2, "diff", "net.tenon", "--expect", "nothing=x.npy"))
        output = self.plan["outputs"][0]["name"]
        self.done("run", "net.tenon", "--zeros", "--output-dir", "out")
        text = self.fails(3, "diff", "net.tenon", "--expect", "r0=x.npy", "--expect", f"{output}=out/{output}.npy")
        self.assertIn("holds f32[2,2]", text)
        self.fails(3, "diff", "net.tenon", "missing")

    def test_a_damaged_plan_or_model_is_refused_as_what_it_is_and_once(self):
        self.write("bad.tenon", b"garbage")
        self.write("bad.onnx", b"garbage")
        self.assertIn("error: bad.tenon: not a plan", self.fails(3, "diff", "net.tenon", "bad.tenon"))
        self.assertIn("error: bad.onnx: not an ONNX model", self.fails(3, "diff", "net.tenon", "bad.onnx"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
