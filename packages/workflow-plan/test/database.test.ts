import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { openPlans, planHome } from "../src/entry/service.ts";
import { hello, workflow } from "./home.ts";

/* The database of a plan home: its tables, older tables, and problems of its file. */
const folder = mkdtempSync(join(tmpdir(), "uw-plans-"));
afterAll(() => rmSync(folder, { recursive: true }));
const reference = readFileSync(new URL("./reference.sql", import.meta.url), "utf8");
let homes = 0;
const newHome = () => join(folder, `home-${(homes += 1)}`);

function open(home = newHome()) {
  const host = openLocalHost({ path: join(folder, "root") });
  return openPlans({ host, home, env: {}, cwd: folder });
}

const schemaOf = (database: Database) =>
  database
    .query<{ type: string; name: string; sql: string }, []>(
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name",
    )
    .all();

test("a new database has exactly the tables and indexes of the protocol", () => {
  const plans = open();
  const own = new Database(join(plans.home, "plans.db"));
  const theirs = new Database(":memory:");
  theirs.run(reference);
  expect(schemaOf(own)).toEqual(schemaOf(theirs));
  expect(own.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
  expect(plans.database.rows("PRAGMA foreign_keys")).toEqual([{ foreign_keys: 1 }]);
  expect(statSync(plans.home).mode & 0o777).toBe(0o700);
  expect(statSync(join(plans.home, "plans.db")).mode & 0o777).toBe(0o600);
});

test("a database with the protocol's first tables opens, gets the missing tables, and keeps its rows", () => {
  const home = newHome();
  mkdirSync(home, { mode: 0o700 });
  const old = new Database(join(home, "plans.db"), { create: true });
  old.run(reference.replace(/CREATE INDEX.*\n/g, "").replace(/ +last_fire_at .*\n/, ""));
  old.run("ALTER TABLE workflows DROP COLUMN schema_version");
  old.run("ALTER TABLE workflow_runs DROP COLUMN duration_ms");
  const at = "2026-01-01T00:00:00.000Z";
  const { failure_policy, steps, trigger } = hello();
  old.run(
    "INSERT INTO workflows (id, name, description, trigger_json, steps_json, failure_policy_json, phase, created_at, updated_at) VALUES ('wf_old', 'Old', 'Do it.', ?, ?, ?, 'completed', ?, ?)",
    [trigger, steps, failure_policy].map((one) => JSON.stringify(one)).concat([at, at]),
  );
  old.run(
    `INSERT INTO workflow_runs (id, workflow_id, status, started_at) VALUES ('run_nanoid', 'wf_old', 'completed', '${at}')`,
  );
  old.run(
    "INSERT INTO step_runs (id, run_id, step_id) VALUES ('sr_nanoid', 'run_nanoid', 'hello')",
  );
  old.run("INSERT INTO trigger_state (workflow_id, last_result) VALUES ('wf_old', 'before')");
  old.close();
  const plans = open(home);
  expect(plans.get("wf_old")).toMatchObject({ schema_version: "1.0", phase: "completed", steps });
  expect(plans.findRun("run_nano")).toMatchObject({ status: "completed", duration_ms: null });
  const state = plans.database.rows("SELECT * FROM trigger_state");
  expect(state).toMatchObject([{ last_result: "before", last_fire_at: null }]);
  const there = new Database(join(home, "plans.db"));
  const names = (one: Database) => schemaOf(one).map(({ name }) => name);
  const theirs = new Database(":memory:");
  theirs.run(reference);
  expect(names(there)).toEqual(names(theirs));
});

function closed() {
  const plans = open();
  plans.close();
  return plans;
}

test("a home in a new storage root is excluded from git, and the root accepts it", async () => {
  const root = join(folder, "new-root");
  const host = openLocalHost({ path: root });
  openPlans({ host, home: planHome(root, {}), env: {}, cwd: folder }).close();
  expect(readFileSync(join(root, ".gitignore"), "utf8")).toBe("*\n");
  expect((await host.verify()).problems).toEqual([]);
});

const refusal = (act: () => unknown): string => {
  try {
    return `no error: ${JSON.stringify(act())}`;
  } catch (error) {
    return lineOf(error);
  }
};

const refused = (acting: Promise<unknown>): Promise<string> =>
  acting.then((result) => `no error: ${JSON.stringify(result)}`, lineOf);

function lineOf(error: unknown): string {
  const { code, hint, message } = error as { code: string; hint?: string; message: string };
  expect(message).not.toContain("\n");
  return `${code}: ${message.replaceAll(folder, "…")} (${hint ?? ""})`;
}

test("a damaged, a foreign and a newer database are refused and left unchanged", async () => {
  const { home: damaged } = closed();
  const path = join(damaged, "plans.db");
  const whole = readFileSync(path);
  const torn = Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(whole.length - 4096, 7)]);
  writeFileSync(path, torn);
  expect(refusal(() => open(damaged).get("wf_a"))).toMatch(
    /^EXECUTOR_ERROR: .*plans\.db is damaged/,
  );
  const { home: foreign } = closed();
  writeFileSync(
    join(foreign, "plans.db"),
    "no database at all, but a text of some length".repeat(50),
  );
  expect(refusal(() => open(foreign))).toMatch(/plans\.db is not a database \(restore it/);
  expect(readFileSync(join(foreign, "plans.db"), "utf8")).toStartWith("no database");
  const newer = open();
  await newer.create(workflow(hello()));
  newer.database.run("UPDATE workflows SET schema_version = '2.0'");
  newer.close();
  expect(refusal(() => open(newer.home))).toContain(
    'schema version "2.0"; this program supports only 1.0',
  );
});

test("a process waits for a locked database, then gives up with one line and writes nothing", async () => {
  const plans = open();
  const other = new Database(join(plans.home, "plans.db"));
  plans.database.run("PRAGMA busy_timeout = 20");
  other.run("BEGIN IMMEDIATE");
  const { id } = workflow(hello());
  expect(await refused(plans.create(workflow(hello(), { id })))).toContain(
    "is locked by another process",
  );
  other.run("ROLLBACK");
  expect(refusal(() => plans.get(id))).toContain(`no plan "${id}" found`);
  expect((await plans.create(workflow(hello(), { id }))).id).toBe(id);
});

test("a read-only database is read, and refuses a change with one line", async () => {
  const plans = open();
  const { id } = await plans.create(workflow(hello()));
  plans.database.run("PRAGMA query_only = 1");
  expect(await refused(plans.create(workflow(hello())))).toContain("plans.db can't be written");
  expect(plans.get(id).phase).toBe("awaiting_confirmation");
  const home = newHome();
  mkdirSync(join(home, "plans.db"), { recursive: true, mode: 0o700 });
  expect(refusal(() => open(home))).toContain("plans.db can't be opened (check the owner");
  const linked = newHome();
  mkdirSync(linked, { mode: 0o700 });
  symlinkSync(join(folder, "nowhere", "plans.db"), join(linked, "plans.db"));
  expect(refusal(() => open(linked))).toContain("plans.db can't be opened (check the owner");
});

test("a full disk leaves no partial fire", async () => {
  const plans = open();
  const { id } = await plans.create(workflow(hello(), { phase: "planning" }));
  plans.database.run("UPDATE workflows SET phase = 'active'");
  const [{ page_count } = { page_count: 0 }] = plans.database.rows<{ page_count: number }>(
    "PRAGMA page_count",
  );
  plans.database.run(`PRAGMA max_page_count = ${page_count + 2}`);
  const expected = {
    triggerJson: JSON.stringify({ type: "manual" }),
    ...{ lastResult: null, lastCheckAt: null },
  };
  const state = { last_result: "a".repeat(100) };
  const fire = (triggerData: string) =>
    plans.fire({ workflowId: id, expected, state, triggerData });
  expect(await refused(fire("x".repeat(100_000)))).toContain("the disk is full");
  expect([
    plans.get(id).phase,
    plans.runs(),
    plans.database.rows("SELECT * FROM trigger_state"),
  ]).toEqual(["active", [], []]);
  expect(await fire("small")).toMatchObject({ workflowId: id });
  expect(plans.get(id).phase).toBe("executing");
});

test("the home is in the storage root, or named by a variable, and only its owner may write to it", () => {
  expect(planHome("/root", {})).toBe("/root/plans");
  expect(planHome("/root", { UNCAGED_PLAN_HOME: "/elsewhere" })).toBe("/elsewhere");
  const { home } = open();
  Bun.spawnSync(["chmod", "777", home]);
  expect(refusal(() => open(home))).toBe(
    `CONFIG_ERROR: the plan home ${home.replace(folder, "…")} can be written by other users (run: chmod 700 ${home})`,
  );
  const file = join(folder, "file");
  writeFileSync(file, "");
  expect(refusal(() => open(file))).toStartWith(
    "CONFIG_ERROR: the plan home …/file can't be created",
  );
});

test("eight processes open one new home at once", async () => {
  const home = newHome();
  const program = new URL("./programs/opens.ts", import.meta.url).pathname;
  const opened = Array.from({ length: 8 }, () =>
    Bun.spawn([process.execPath, program, home, folder], { stdout: "pipe", stderr: "pipe" }),
  );
  const ends = await Promise.all(
    opened.map(async (one) => [await one.exited, await new Response(one.stderr).text()]),
  );
  expect(ends).toEqual(ends.map(() => [0, ""]));
  expect((await open(home).list()).length).toBe(8);
}, 180_000);
