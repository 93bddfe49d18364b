/*
 * Measures DBOS for `beside.ts`, in Node. The arguments are the URL of a database and the number of rows for the list.
 * Prints the times in milliseconds as one JSON line.
 */
import { DBOS } from "@dbos-inc/dbos-sdk";
import pg from "pg";

const [, , url, rows] = process.argv;
DBOS.setConfig({
  name: "beside",
  systemDatabaseUrl: url,
  logLevel: "error",
});

/** Node 20 lacks `Promise.withResolvers`. */
function deferred() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}

let step = () => undefined;
const steps = DBOS.registerWorkflow(
  async (count) => {
    for (let n = 0; n < count; n += 1) await DBOS.runStep(async () => step(n), { name: "one" });
    return "done";
  },
  { name: "steps" },
);
await DBOS.launch();

const started = performance.now();
await (await DBOS.startWorkflow(steps)(500)).getResult();
const stepMs = (performance.now() - started) / 500;

const many = performance.now();
const handles = [];
for (let n = 0; n < 100; n += 1) handles.push(await DBOS.startWorkflow(steps)(50));
await Promise.all(handles.map((handle) => handle.getResult()));
const manyMs = performance.now() - many;

// A workflow that stops after 1,000 steps and is then resumed.
const reached = deferred();
step = (n) => (n === 1000 ? (reached.resolve(), new Promise(() => undefined)) : undefined);
const handle = await DBOS.startWorkflow(steps)(1001);
await reached.promise;
await DBOS.cancelWorkflow(handle.workflowID);
const resumed = deferred();
step = (n) => (n === 1000 ? resumed.resolve() : undefined);
const resume = performance.now();
await DBOS.resumeWorkflow(handle.workflowID);
await resumed.promise;
const resumeMs = performance.now() - resume;

const client = new pg.Client({ connectionString: url });
await client.connect();
const { rows: columns } = await client.query(
  "SELECT column_name FROM information_schema.columns WHERE table_schema = 'dbos' AND table_name = 'workflow_status'",
);
const names = columns.map(({ column_name: name }) => `"${name}"`);
const values = names.map((name) =>
  name === '"workflow_uuid"'
    ? "gen_random_uuid()::text"
    : name === '"created_at"' || name === '"updated_at"'
      ? `${name} - n`
      : name,
);
await client.query(
  `INSERT INTO dbos.workflow_status (${names.join(", ")})
   SELECT ${values.join(", ")} FROM (SELECT * FROM dbos.workflow_status WHERE status = 'SUCCESS' LIMIT 1) w,
     generate_series(1, ${Number(rows)}) n`,
);
await client.query("ANALYZE");
await client.end();
const listMs = [];
for (let n = 0; n < 20; n += 1) {
  const list = performance.now();
  const found = await DBOS.listWorkflows({ limit: 20, sortDesc: true });
  if (found.length !== 20) throw new Error(`${found.length} rows`);
  listMs.push(performance.now() - list);
}
listMs.sort((a, b) => a - b);
console.log(JSON.stringify({ stepMs, manyMs, resumeMs, listMs: listMs[10] }));
await DBOS.shutdown();
process.exit(0);
