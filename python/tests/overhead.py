"""What a call costs over the run itself: python/tests/overhead.py PLAN

Prints the median of a call of Session.run with arrays for all ports, of run_in_place, and the
difference of either to the command's median (tenon bench) of the same plan."""

import statistics
import sys
import time

import numpy
import tenon


def median_us(call, rounds=20000):
    call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1000


def main():
    plan = tenon.Plan(sys.argv[1])
    session = tenon.Session(plan)
    inputs = {port.name: numpy.zeros(port.shape, port.dtype) for port in plan.inputs}
    outputs = {port.name: numpy.zeros(port.shape, port.dtype) for port in plan.outputs}
    bench = tenon.bench(sys.argv[1], iterations=5000)["latency_ms"]["median"] * 1000
    print(f"tenon bench: {bench:.1f} us")
    for name, call in (("run_in_place()", session.run_in_place),
                       ("run(inputs)", lambda: session.run(inputs)),
                       ("run(inputs, outputs)", lambda: session.run(inputs, outputs))):
        took = median_us(call)
        print(f"{name}: {took:.1f} us, {took - bench:+.1f} us")


if __name__ == "__main__":
    main()
