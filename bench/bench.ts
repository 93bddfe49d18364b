import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Built, makeCommand } from "./command.ts";
import { machineOf } from "./machine.ts";
import type { Line, Row } from "./row.ts";
import { added } from "./rows/added.ts";
import { again } from "./rows/again.ts";
import {
  clusterAgain,
  clusterList,
  clusterRoles,
  clusterShares,
  clusterStep,
  clusterThreads,
} from "./rows/cluster.ts";
import { consoleRow } from "./rows/console.ts";
import { crowd } from "./rows/crowd.ts";
import { graph } from "./rows/graph.ts";
import { growth } from "./rows/growth.ts";
import { fan, interpreter } from "./rows/interpreter.ts";
import { iterationsRow } from "./rows/iterations.ts";
import { list } from "./rows/list.ts";
import { page } from "./rows/page.ts";
import { plansRow } from "./rows/plans.ts";
import { thousand, together } from "./rows/many.ts";
import { server } from "./rows/server.ts";
import { midway } from "./rows/midway.ts";
import { start } from "./rows/start.ts";
import { step } from "./rows/step.ts";
import { stream } from "./rows/stream.ts";
import { turns } from "./rows/turns.ts";
import { report } from "./table.ts";

/*
 *     bun run bench [--only name] [--json file]
 *
 * Measures each row of the design's table and its baseline in the same run. It decides nothing: a figure
 * of a busy machine is no failure.
 */
const rowsOf = (built: Built): Row[] => [
  start(built),
  step,
  growth,
  thousand,
  together,
  again,
  list(built),
  stream,
  crowd,
  turns,
  server(built),
  consoleRow(built),
  page(built),
  interpreter,
  fan,
  iterationsRow,
  graph,
  midway,
  added(built),
  plansRow(built),
  clusterStep(built),
  clusterThreads(built),
  clusterShares(built),
  clusterRoles(built),
  clusterAgain(built),
  clusterList(built),
];

const { values } = parseArgs({
  options: { only: { type: "string", multiple: true }, json: { type: "string" } },
});

// In this repository and not in the system's temporary folder, which may be in memory.
const cache = fileURLToPath(new URL("../.cache", import.meta.url));
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "bench-"));
try {
  console.error("building the command…");
  const rows = chosen(rowsOf(await makeCommand(folder)));
  const machine = machineOf(folder);
  const lines: Line[] = [];
  for (const row of rows) {
    console.error(`${row.name}…`);
    lines.push(...(await row.measure(folder)));
  }
  console.log(report(lines, machine));
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ machine, lines }, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);

function chosen(rows: Row[]): Row[] {
  const { only } = values;
  if (!only) return rows;
  const unknown = only.find((name) => !rows.some((row) => row.name === name));
  if (unknown === undefined) return rows.filter(({ name }) => only.includes(name));
  console.error(`there is no row ${unknown}: ${rows.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
