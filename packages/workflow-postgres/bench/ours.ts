/*
 * Measures this project for `beside.ts`: a host and a worker in one process, as in `dbos.mjs`. The arguments are the
 * URL of a database and the number of threads for the list. Prints the times in milliseconds as one JSON line.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Host, ThreadRef } from "@uncaged/workflow/host";
import pg from "pg";
import { openPostgresHost, servePostgresWorker } from "../src/entry/index.ts";

const [, , url = "", threads = "0"] = process.argv;
const folder = mkdtempSync(join(tmpdir(), "beside-"));
const reached = Promise.withResolvers<void>();
const resumed = Promise.withResolvers<void>();
/** Called at each step of the bundle, which runs in this process. */
let onStep: (n: number) => Promise<void> | void = () => undefined;
Object.assign(globalThis, { onStep: (n: number) => onStep(n) });

const file = join(folder, "steps.ts");
writeFileSync(
  file,
  `import { durable } from "@uncaged/workflow";
  export const descriptor = { description: "counts", roles: { one: { description: "one", schema: true } } };
  export const run = durable(async function* (step, { params }) {
    for (let n = 0; n < params.count; n += 1) yield* step("one", async () => { await globalThis.onStep(n); return {}; });
    return "done";
  });`,
);

const host = await openPostgresHost({ url });
await host.register("steps", file, { sandbox: "off" });
const worker = await servePostgresWorker({
  url,
  cache: join(folder, "cache"),
  env: {},
  threads: 200,
});

const start = async (count: number): Promise<ThreadRef> =>
  await host.start({ workflow: "steps", params: { count }, maxRounds: 10_000, cwd: "/", env: {} });
await ended(host, await start(1));

const began = performance.now();
await ended(host, await start(500));
const stepMs = (performance.now() - began) / 500;

const many = performance.now();
const refs: ThreadRef[] = [];
for (let n = 0; n < 100; n += 1) refs.push(await start(50));
await Promise.all(refs.map((ref) => ended(host, ref)));
const manyMs = performance.now() - many;

onStep = (n) => {
  if (n !== 1000) return undefined;
  reached.resolve();
  return new Promise(() => undefined);
};
const ref = await start(1001);
await reached.promise;
await host.control(ref, { kind: "pause" });
await worker.close();
const next = await servePostgresWorker({ url, cache: join(folder, "cache2"), env: {} });
onStep = (n) => (n === 1000 ? resumed.resolve() : undefined);
const resume = performance.now();
await host.control(ref, { kind: "resume", env: {} });
await resumed.promise;
const resumeMs = performance.now() - resume;

await copies(Number(threads));
const listMs: number[] = [];
for (let n = 0; n < 20; n += 1) {
  const list = performance.now();
  const { rows } = await host.threads({ limit: 20 });
  if (rows.length !== 20) throw new Error(`${rows.length} rows`);
  listMs.push(performance.now() - list);
}
listMs.sort((a, b) => a - b);
console.log(JSON.stringify({ stepMs, manyMs, resumeMs, listMs: listMs[10] }));
await next.close();
await host.close();
rmSync(folder, { recursive: true });
process.exit(0);

async function ended(of: Host, thread: ThreadRef): Promise<void> {
  for await (const item of of.observe(thread, undefined, { events: false })) {
    if (item.kind === "end") return;
  }
}

/** Copies an ended thread many times, under earlier ids. */
async function copies(count: number): Promise<void> {
  const address = new URL(url);
  const schema = address.searchParams.get("schema") ?? "uncaged";
  address.search = "";
  const client = new pg.Client({ connectionString: address.href });
  await client.connect();
  const { rows } = await client.query<{ column_name: string }>(
    "SELECT column_name FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'threads'",
    [schema],
  );
  const names = rows.map(({ column_name: name }) => name);
  const id = "'00' || lpad(n::text, 24, '0')";
  await client.query(
    `INSERT INTO ${schema}.threads (${names.join(", ")})
     SELECT ${names.map((name) => (name === "thread_id" ? id : name)).join(", ")}
     FROM (SELECT * FROM ${schema}.threads WHERE state = 'ended' AND records < 10 LIMIT 1) t, generate_series(1, $1) n`,
    [count],
  );
  await client.query("ANALYZE");
  await client.end();
}
