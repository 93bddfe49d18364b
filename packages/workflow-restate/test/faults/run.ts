// Faults at random moments, for as long as is wanted: bun packages/workflow-restate/test/faults/run.ts --faults 300
import { parseArgs } from "node:util";
import { runFaults } from "./faults.ts";

const { values } = parseArgs({
  options: {
    faults: { type: "string", default: "30" },
    nodes: { type: "string", default: "1" },
    seed: { type: "string", default: "1" },
    threads: { type: "string", default: "10" },
  },
});
const report = await runFaults({
  faults: Number(values.faults),
  nodes: values.nodes === "3" ? 3 : 1,
  workers: 3,
  threads: Number(values.threads),
  steps: 40,
  seed: Number(values.seed),
  report: (line) => console.error(line),
});
const { takeover, ...rest } = report;
const median = (times: number[]) => times[Math.floor(times.length / 2)] ?? null;
const shown = Object.entries(takeover).map(([kind, times]) => {
  return [kind, { count: times.length, median: median(times), most: times.at(-1) ?? null }];
});
console.log(JSON.stringify({ ...rest, takeover: Object.fromEntries(shown) }, null, 2));
process.exitCode = report.violations.length > 0 ? 1 : 0;
