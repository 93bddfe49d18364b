// @cluster: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, openLocalHost, type ThreadRef } from "@uncaged/workflow/host";
import { moveThread, type MovingHost, movingRoot } from "@uncaged/workflow/internal";
import { threadFiles, openRoot } from "@uncaged/workflow/store";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster, untilNoWorker } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

process.env.UNCAGED_WORKFLOW_IDLE_MS ??= "600";

const isWhole = process.env.TEST_CASES === "all";
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
    yield step("count", made + " " + "x".repeat(100));
    [made, role] = [made + 1, "count"];
  }
}`;

let cluster: TestCluster;
let host: RestateHost;
let folder: string;
let local: Host;
let sides: Record<Side, { host: Host; moving: MovingHost }>;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  await cluster.work();
  host = cluster.open();
  folder = mkdtempSync(join(tmpdir(), "uw-move-killed-"));
  local = openLocalHost({ path: join(folder, "root") });
  sides = {
    laptop: { host: local, moving: movingRoot(local.root, "here") },
    cluster: { host, moving: host.moving },
  };
});
afterAll(async () => {
  if (missingServer !== "") return;
  await cluster.stop();
  await untilNoWorker(local);
  rmSync(folder, { recursive: true, force: true });
});

type Side = "laptop" | "cluster";
type Way = "push" | "pull";
/** Action of a move: its name and duration. */
type Act = { name: string; ms: number };

/** Returns the numbers of the actions at which to kill a move: all actions, or one of each phase. */
function targetsIn(acts: readonly Act[]): number[] {
  const all = [...acts.keys()];
  if (isWhole) return all;
  const [leaves, arrives] = ["leave", "arrive"].map((one) =>
    acts.findIndex(({ name }) => name === one),
  );
  const is = acts.findLastIndex(({ name }) => name === "progress") + 1;
  return [
    [0, leaves],
    [leaves, arrives],
    [arrives, is],
    [is, acts.length],
  ].flatMap(([from = 0, to = 0]) => from + Math.floor(Math.random() * (to - from)));
}

const ends = (way: Way): [from: Side, to: Side] =>
  way === "push" ? ["laptop", "cluster"] : ["cluster", "laptop"];

const move = async (way: Way, ref: ThreadRef) => {
  const [from, to] = ends(way);
  return await moveThread(sides[from].moving, sides[to].moving, ref);
};

const nothing = Buffer.alloc(0);

const textsOf = async (side: Side, ref: ThreadRef) => {
  const on = sides[side].host;
  await on.read(ref);
  const { data, info, values } = threadFiles(openRoot({ path: on.root }), ref);
  return [data, info, values].map((path) => readFileSync(path));
};

/** Returns the hosts that have a thread. */
async function placesOf({ threadId }: ThreadRef): Promise<Side[]> {
  const places: Side[] = [];
  for (const side of ["laptop", "cluster"] as const) {
    const presence = await sides[side].moving.presence(threadId);
    if (presence && !presence.location?.host) places.push(side);
  }
  return places;
}

/**
 * Moves a thread in a separate process. Calls `onAct` at the start of each action, with a function that kills the
 * process. Returns the started actions.
 */
async function moveInProcess(
  way: Way,
  { hash, threadId }: ThreadRef,
  onAct: (number: number, kill: () => void) => void = () => undefined,
): Promise<{ acts: Act[]; isKilled: boolean }> {
  const program = join(import.meta.dir, "fixtures", "mover.ts");
  const address = JSON.stringify(cluster.cluster.address);
  const args = [address, local.root, way, hash, threadId, "never"];
  const child = Bun.spawn([process.execPath, program, ...args], {
    env: { ...process.env },
    stdout: "pipe",
    stderr: "inherit",
  });
  const began: { name: string; at: number }[] = [];
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    for (const name of text.split("\n").filter(Boolean)) {
      began.push({ name, at: performance.now() });
      onAct(began.length - 1, () => child.kill("SIGKILL"));
    }
  }
  await child.exited;
  const ended = performance.now();
  const acts = began.map(({ name, at }, n) => ({ name, ms: (began[n + 1]?.at ?? ended) - at }));
  return { acts, isKilled: child.signalCode === "SIGKILL" };
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

/** Makes the thread commit one more step on its host. */
async function goOn(side: Side, ref: ThreadRef): Promise<void> {
  const on = sides[side].host;
  const { steps } = await on.read(ref);
  const input = { content: "yes", meta: { requestId: String(steps.length) } };
  await on.control(ref, { kind: "answer", input, env: {} });
  await until(async () => {
    const view = await on.read(ref);
    return view.status === "waiting" && view.steps.length === steps.length + 3;
  });
}

const noted = (notes: string): number[] =>
  readFileSync(notes, "utf8").trim().split("\n").map(Number);

/** A move in one direction: its actions, and the numbers of the actions at which to kill it, one run for each. */
type Course = { way: Way; acts: Act[]; targets: number[] };

async function courseOf(way: Way, ref: ThreadRef): Promise<Course> {
  const { acts, isKilled } = await moveInProcess(way, ref);
  expect(isKilled).toBe(false);
  return { way, acts, targets: targetsIn(acts) };
}

/**
 * Kills a move at a random moment of one of its actions, and repeats the move. Returns the host of the thread between
 * the two moves.
 */
async function killed({ way, acts }: Course, target: number, ref: ThreadRef): Promise<string> {
  const [from, to] = ends(way);
  // Remove the old copy at the destination, so that the move sends everything again.
  if (way === "push") await host.remove(ref);
  const [log] = await textsOf(from, ref);
  const { name = "", ms = 0 } = acts[target] ?? {};
  const after = Math.random() * ms;
  const { isKilled } = await moveInProcess(way, ref, (number, kill) => {
    if (number === target) setTimeout(kill, after);
  });
  const what = `a ${way} that is killed ${after.toFixed(1)} ms after ${name} (${target})`;
  const places = await placesOf(ref);
  expect(places.length, what).toBeLessThan(2);
  await move(way, ref);
  expect(await placesOf(ref), what).toEqual([to]);
  const [left, moved] = [await textsOf(from, ref), await textsOf(to, ref)];
  expect(moved[0]?.equals(log ?? nothing), what).toBe(true);
  // The debug log may get a line after the record of the wait.
  const isSame = moved.map((text, n) => text.equals(left[n] ?? nothing));
  expect(isSame, what).toEqual([true, true, true]);
  return isKilled ? `${way} ${places[0] ?? "between"}` : "";
}

describe.skipIf(missingServer !== "")(`a thread of ${stepCount} steps${missingServer}`, () => {
  test("stays on one host with the same records, and repeats no step, if each of its moves is killed", async () => {
    const notes = join(folder, "notes");
    const ref = await start(notes);
    let made = stepCount;
    const push = await courseOf("push", ref);
    const courses = [push, await courseOf("pull", ref)];
    const places: string[] = [];
    for (let n = 0; courses.some(({ targets }) => n < targets.length); n += 1) {
      for (const course of courses) {
        const target = course.targets[n];
        if (target === undefined) await move(course.way, ref);
        else places.push(await killed(course, target, ref));
        await goOn(ends(course.way)[1], ref);
        made += 1;
      }
    }
    expect(noted(notes)).toEqual([...Array(made).keys()]);
    // Some moves were killed before the thread left its host, and some while no host had the thread.
    const most = ["pull between", "pull cluster", "push between", "push laptop"];
    expect(places).toEqual(expect.arrayContaining(isWhole ? most : most.slice(-1)));
    for (const one of [local, cluster.open()]) expect((await one.verify()).problems).toEqual([]);
    if (isWhole)
      console.error(
        Object.entries(Object.groupBy(places, (place) => place))
          .map(([place, all]) => `${place || "in time"}: ${all?.length}`)
          .join(", "),
      );
  }, 1_200_000);
});
