import { type FaultReport, type Kind, runFaults } from "./faults.ts";

/** Maximum time until another worker takes over, in milliseconds, by the kind of loss. */
const soonest: Record<string, number> = { kill: 2000, freeze: 15_000, network: 15_000 };

/** Runs faults on a local cluster, prints the outcome, and returns the exit code. */
export async function crashCluster(options: {
  faults: number;
  kinds?: Kind[];
  nodes: 1 | 3;
  seed: number;
}): Promise<number> {
  const report = (line: string) => console.error(line);
  const begin = performance.now();
  const outcome = await runFaults({ ...options, workers: 3, threads: 6, steps: 40, report });
  return printed(outcome, { servers: options.nodes, seed: options.seed, begin, soonest });
}

type Outcome = Omit<FaultReport, "faults"> & { faults: Record<string, number> };

/** Prints the outcome of faults and returns the exit code. `soonest`: the maximum times of takeovers. */
export function printed(
  report: Outcome,
  trial: { servers: number; seed: number; begin: number; soonest?: Record<string, number> },
): number {
  const { faults, takeover, violations } = report;
  const { servers, seed, begin, soonest: most = {} } = trial;
  const happened = Object.entries(faults).map(([kind, times]) => `${times} ${kind}`);
  const rows: [string, string | number][] = [
    ["servers, workers", `${servers}, 3`],
    ["faults", happened.join(", ")],
    ["threads, forks", `${report.threads}, ${report.forks}`],
    ["steps", report.steps],
    ["begun twice", report.repeated],
    ...Object.keys(takeover).map((kind): [string, string] => [
      `lost by ${kind}`,
      shown(report, kind),
    ]),
    ["violations", violations.length],
    ["duration", `${Math.round((performance.now() - begin) / 1000)} s`],
    ["seed", seed],
  ];
  for (const [what, value] of rows) console.log(`${what.padEnd(20)} ${value}`);
  const late = Object.keys(takeover).flatMap((kind) =>
    (takeover[kind]?.alone ?? [])
      .filter((ms) => ms > (most[kind] ?? Number.POSITIVE_INFINITY))
      .map((ms) => `another worker continued ${ms} ms after a ${kind}`),
  );
  for (const finding of [...violations, ...late]) console.log(`! ${finding}`);
  return violations.length + late.length === 0 ? 0 : 1;
}

/** Formats takeovers: their number, median and maximum, alone and among other faults. */
function shown({ takeover }: Outcome, kind: string): string {
  const { alone = [], among = [] } = takeover[kind] ?? {};
  const of = (times: number[]) =>
    times.length === 0
      ? "none"
      : `${times.length}, median ${times[times.length >> 1]} ms, most ${times.at(-1)} ms`;
  return `taken over ${of(alone)}; among other faults ${of(among)}`;
}
