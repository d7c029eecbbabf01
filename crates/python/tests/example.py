"""Twelve lines from a fresh environment to a comparison with a picture; typed strictly."""

import manx

scenario = manx.Scenario("quick", gc=manx.scenario.Gc(soft=0.06), seed=7)
scenario.workload.requests = 20_000
scenario.gc.victim = "cost-benefit"
results = manx.compare(scenario, ["nogc", "base", "preemptive"], attribution=True)
print(results)
slowest: float | None = results["base"].quantity("p99_9")
print(results["base"].read.p99_us, slowest, results.table("p99", "waf"))
results.plot(title="quick", file="tail.svg")
results.save("results")
