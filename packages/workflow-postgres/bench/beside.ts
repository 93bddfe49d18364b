import { join } from "node:path";
import { PostgresServer, run } from "../test/fixtures/server.ts";

/*
 * Compares this package with DBOS on one PostgreSQL server: the times of a step, of 100 threads with 50 steps each, of
 * a list of the newest 20 of 100,000 threads, and of a resume after 1,000 steps. Runs both programs in turn, `--runs`
 * times, and prints medians in milliseconds.
 *
 *     bun packages/workflow-postgres/bench/beside.ts [--runs 3] [--threads 100000]
 */
type Measured = { stepMs: number; manyMs: number; listMs: number; resumeMs: number };

const valueOf = (option: string, without: number): number => {
  const at = process.argv.indexOf(option);
  return at < 0 ? without : Number(process.argv[at + 1]);
};
const runs = valueOf("--runs", 3);
const threads = String(valueOf("--threads", 100_000));

async function measured(command: string[]): Promise<Measured> {
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed`);
  return JSON.parse(text.trim().split("\n").at(-1) ?? "") as Measured;
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const server = await PostgresServer.start();
try {
  const found = { ours: [] as Measured[], dbos: [] as Measured[] };
  for (let n = 0; n < runs; n += 1) {
    for (const side of ["ours", "dbos"] as const) {
      const database = `${side}_${n}`;
      await run(
        "createdb",
        "-h",
        "127.0.0.1",
        "-p",
        String(server.port),
        "-U",
        "uncaged",
        database,
      );
      const program = join(import.meta.dir, side === "ours" ? "ours.ts" : "dbos.mjs");
      const runtime = side === "ours" ? [process.execPath] : ["node", "--no-deprecation"];
      found[side].push(
        await measured([...runtime, program, server.url(undefined, database), threads]),
      );
    }
  }
  for (const name of ["stepMs", "manyMs", "listMs", "resumeMs"] as const) {
    const of = (side: "ours" | "dbos") => median(found[side].map((one) => one[name])).toFixed(1);
    console.log(
      `${name.padEnd(10)} ours ${of("ours").padStart(9)}   dbos ${of("dbos").padStart(9)}`,
    );
  }
} finally {
  await server.remove();
}
