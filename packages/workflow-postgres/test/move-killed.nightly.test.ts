// @postgres: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, openLocalHost, openStoreHost, type ThreadRef } from "@uncaged/workflow/host";
import { moveThread, type MovingHost, movingRoot } from "@uncaged/workflow/internal";
import { openRoot, threadFiles } from "@uncaged/workflow/store";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { readDatabaseUrl } from "../src/database/address.ts";
import { type MovingDatabase, movingDatabase } from "../src/host/move.ts";
import { openPostgresStore, type PostgresStore } from "../src/store/store.ts";
import { missingPostgres, PostgresServer } from "./fixtures/server.ts";

process.env.UNCAGED_WORKFLOW_IDLE_MS ??= "600";

/** Number of steps of the moved thread. */
const stepCount = isWhole ? 10_000 : 1200;

/**
 * A bundle that writes a note before it yields each step, and asks a question after `count` steps and each later step.
 */
const noting = `
import { appendFileSync } from "node:fs";
export const descriptor = { description: "notes what it does", roles: {} };
export async function* run(input, options) {
  const step = (role, content, meta = {}) => ({ role, content, meta });
  let made = input.steps.filter(({ role }) => role === "count").length;
  let { role } = input.steps.at(-1) ?? {};
  for (;;) {
    if (made >= options.count && role === "count") {
      yield step("__wait__", "and?", { for: "word" });
      role = "__answer__";
    }
    appendFileSync(options.notes, made + "\\n");
    if (made % 500 === 0) await options.blobs.put(new TextEncoder().encode("blob " + made));
    yield step("count", made + " " + "x".repeat(100));
    [made, role] = [made + 1, "count"];
  }
}`;

type Side = "laptop" | "database";
type Way = "push" | "pull";
/** Action of a move: its name and duration. */
type Act = { name: string; ms: number };
type Victim = "mover" | "server";

let server: PostgresServer;
let url: string;
let store: PostgresStore;
let database: MovingDatabase;
let folder: string;
let local: Host;
let sides: Record<Side, MovingHost>;

beforeAll(async () => {
  if (missingPostgres !== "") return;
  server = await PostgresServer.start();
  url = server.url("moves");
  store = await openPostgresStore(readDatabaseUrl(url));
  database = movingDatabase(store);
  folder = mkdtempSync(join(tmpdir(), "uw-move-killed-"));
  local = openLocalHost({ path: join(folder, "root") });
  sides = { laptop: movingRoot(local.root, "here"), database: database.moving };
});
afterAll(async () => {
  if (missingPostgres !== "") return;
  database.removeCopies();
  await store.close();
  await until(async () => {
    await Bun.sleep(1000);
    return (await local.workers()).every(({ state }) => state === "gone");
  });
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns the numbers of the actions at which to kill a move: all actions, or one of each phase. */
function targetsIn(acts: readonly Act[]): number[] {
  const all = [...acts.keys()];
  if (isWhole) return all;
  const [leaves, arrives] = ["leave", "arrive"].map((one) =>
    acts.findIndex(({ name }) => name === one),
  );
  return [
    [0, leaves],
    [leaves, arrives],
    [arrives, acts.length],
  ].flatMap(([from = 0, to = 0]) => from + Math.floor(Math.random() * (to - from)));
}

const ends = (way: Way): [from: Side, to: Side] =>
  way === "push" ? ["laptop", "database"] : ["database", "laptop"];

async function move(way: Way, ref: ThreadRef): Promise<void> {
  const [from, to] = ends(way);
  await moveThread(sides[from], sides[to], ref);
}

/** Returns the bytes of a thread's files on a host. */
async function filesOn(side: Side, ref: ThreadRef): Promise<Record<string, string>> {
  const root = side === "laptop" ? local.root : await database.moving.files(ref);
  const { blobs, ...logs } = threadFiles(openRoot({ path: root }), ref);
  const found = Object.entries(logs).filter(([, path]) => existsSync(path));
  for (const id of existsSync(blobs) ? readdirSync(blobs) : []) {
    // A killed writer leaves a temporary file.
    if (!id.startsWith(".")) found.push([id, join(blobs, id)]);
  }
  return Object.fromEntries(found.map(([name, path]) => [name, readFileSync(path, "latin1")]));
}

/** Returns the hosts that have a thread. */
async function placesOf({ threadId }: ThreadRef): Promise<Side[]> {
  const places: Side[] = [];
  for (const side of ["laptop", "database"] as const) {
    const presence = await sides[side].presence(threadId);
    if (presence && !presence.location?.host) places.push(side);
  }
  return places;
}

/**
 * Moves a thread in a separate process. Calls `onAct` at the start of each action. Returns the started actions, and
 * whether the move is done.
 */
async function moveInProcess(
  way: Way,
  { hash, threadId }: ThreadRef,
  onAct: (number: number, child: Bun.Subprocess) => void = () => undefined,
): Promise<{ acts: Act[]; isDone: boolean }> {
  const program = join(import.meta.dir, "fixtures", "mover.ts");
  const child = Bun.spawn([process.execPath, program, url, local.root, way, hash, threadId], {
    env: { ...process.env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const began: { name: string; at: number }[] = [];
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    for (const name of text.split("\n").filter(Boolean)) {
      began.push({ name, at: performance.now() });
      onAct(began.length - 1, child);
    }
  }
  await child.exited;
  const ended = performance.now();
  const acts = began.map(({ name, at }, n) => ({ name, ms: (began[n + 1]?.at ?? ended) - at }));
  return { acts, isDone: child.exitCode === 0 };
}

/** Creates the thread with all of its steps on the laptop. */
async function start(notes: string): Promise<ThreadRef> {
  const file = join(folder, "noting.esm.js");
  writeFileSync(file, noting);
  const { hash } = await local.store(file);
  const options = { count: stepCount, notes };
  const ref = await local.start({
    ...{ workflow: hash, cwd: folder, env: {}, options },
    maxRounds: 1_000_000,
  });
  await until(async () => (await local.read(ref)).status === "waiting");
  return ref;
}

/** Answers the thread's question, so that it commits one more step on its host. */
async function goOn(side: Side, ref: ThreadRef): Promise<void> {
  if (side === "laptop") await goOnOn(local, ref);
  else await onDatabase((host) => goOnOn(host, ref));
}

/** Opens a host that drives threads of the database in this process until the function ends. */
async function onDatabase<Result>(act: (host: Host) => Promise<Result>): Promise<Result> {
  const host = openStoreHost(await openPostgresStore(readDatabaseUrl(url)), { root: url });
  try {
    return await act(host);
  } finally {
    await host.close();
  }
}

async function goOnOn(on: Host, ref: ThreadRef): Promise<void> {
  const { steps } = await on.read(ref);
  const input = { content: "yes", meta: { requestId: String(steps.length) } };
  await on.control(ref, { kind: "answer", input, env: {} });
  await until(async () => {
    const view = await on.read(ref);
    return view.status === "waiting" && view.steps.length === steps.length + 3;
  });
}

/** A move in one direction: its actions, and the numbers of the actions at which to kill it, one run for each. */
type Course = { way: Way; acts: Act[]; targets: number[] };

async function courseOf(way: Way, ref: ThreadRef): Promise<Course> {
  const { acts, isDone } = await moveInProcess(way, ref);
  expect(isDone).toBe(true);
  return { way, acts, targets: targetsIn(acts) };
}

/**
 * Kills the mover or the server at a random moment of one action of a move, and repeats the move. Returns the host of
 * the thread between the two moves.
 */
async function killed(
  { way, acts }: Course,
  target: number,
  ref: ThreadRef,
  victim: Victim,
): Promise<string> {
  const [from, to] = ends(way);
  // Without the old copy, the move must insert a new row.
  if (way === "push" && target % 2 === 0) await store.remove(ref);
  const before = await filesOn(from, ref);
  const { name = "", ms = 0 } = acts[target] ?? {};
  const after = Math.random() * ms;
  const killing: Promise<void>[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const { isDone } = await moveInProcess(way, ref, (number, child) => {
    if (number !== target) return;
    timer = setTimeout(() => {
      if (victim === "mover") child.kill("SIGKILL");
      else killing.push(server.kill());
    }, after);
  });
  clearTimeout(timer);
  await Promise.all(killing);
  if (killing.length > 0) await server.restart();
  const what = `a ${way} whose ${victim} is killed ${after.toFixed(1)} ms after ${name} (${target})`;
  const places = await placesOf(ref);
  expect(places.length, what).toBeLessThan(2);
  await move(way, ref);
  expect(await placesOf(ref), what).toEqual([to]);
  const [left, moved] = [await filesOn(from, ref), await filesOn(to, ref)];
  expect(moved.data === before.data, what).toBe(true);
  // The debug log may get a line after the record of the wait.
  const names = Object.keys({ ...left, ...moved });
  expect(
    names.filter((one) => left[one] !== moved[one]),
    what,
  ).toEqual([]);
  return isDone ? "" : `${way} ${places[0] ?? "between"}`;
}

describe.skipIf(missingPostgres !== "")(`a thread of ${stepCount} steps${missingPostgres}`, () => {
  for (const victim of ["mover", "server"] as const)
    test(`stays on one host with the same files, and repeats no step, if the ${victim} is killed during each of its moves`, async () => {
      const notes = join(folder, `notes-${victim}`);
      const ref = await start(notes);
      let made = stepCount;
      const push = await courseOf("push", ref);
      const courses = [push, await courseOf("pull", ref)];
      const places: string[] = [];
      for (let n = 0; courses.some(({ targets }) => n < targets.length); n += 1) {
        for (const course of courses) {
          const target = course.targets[n];
          if (target === undefined) await move(course.way, ref);
          else places.push(await killed(course, target, ref, victim));
          await goOn(ends(course.way)[1], ref);
          made += 1;
        }
      }
      const noted = readFileSync(notes, "utf8").trim().split("\n").map(Number);
      expect(noted).toEqual([...Array(made).keys()]);
      // Some moves were killed before the thread left its host.
      expect(places.filter((place) => /laptop|database/.test(place)).length).toBeGreaterThan(0);
      expect((await local.verify()).problems).toEqual([]);
      expect((await onDatabase((host) => host.verify())).problems).toEqual([]);
      const counts = Object.groupBy(places, (place) => place);
      if (isWhole) {
        const shown = Object.entries(counts).map(
          ([place, all]) => `${place || "done"}: ${all?.length}`,
        );
        console.error(`${victim}: ${shown.join(", ")}`);
      }
    }, 1_200_000);
});
