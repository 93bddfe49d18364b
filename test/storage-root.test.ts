import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { unsealed } from "../packages/workflow/test/fixtures/records.ts";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { removeFolders, Store } from "../packages/cli-workflow/test/program.ts";
import threads from "./fixtures/storage-root-0.1/threads.json";

/*
 * The current code reads and continues a storage root of an older version. The storage root has a bundle of each kind
 * and a thread of each status. `fixtures/storage-root-0.1/make.ts` created it.
 */
type Name = keyof typeof threads;
type Line = { role: string; content: string; meta: Record<string, unknown>; timestamp: number };
type View = {
  status: string;
  steps: Line[];
  result: { returnCode: number; summary: string } | null;
  forkFrom: { threadId: string; steps: number } | null;
};
type Row = { threadId: string; workflow: string; status: string; steps: number };
type Sum = { tokens: number; cost: number | null };

const fixture = join(import.meta.dir, "fixtures/storage-root-0.1/root");

/** Copies the old storage root, and sets the file modes that git does not keep. */
function oldStore(): Store {
  const store = new Store();
  cpSync(fixture, store.root, { recursive: true });
  chmodSync(store.root, 0o700);
  for (const name of readdirSync(store.root, { recursive: true, encoding: "utf8" })) {
    const path = join(store.root, name);
    if (path.endsWith(".gz")) {
      writeFileSync(path.slice(0, -3), gunzipSync(readFileSync(path)), { mode: 0o600 });
      rmSync(path);
    } else chmodSync(path, statSync(path).isDirectory() ? 0o700 : 0o600);
  }
  return store;
}

let store: Store;

const pathOf = (id: string, kind = "data"): string => {
  const names = readdirSync(join(store.root, "logs"), { recursive: true, encoding: "utf8" });
  const found = names.find((name) => basename(name) === `${id}.${kind}.jsonl`);
  if (found === undefined) throw new Error(`${id} has no ${kind} log`);
  return join(store.root, "logs", found);
};
const textOf = (id: string): string => readFileSync(pathOf(id), "utf8");
const linesOf = (id: string): string[] => textOf(id).trimEnd().split("\n");
const read = (id: string) => store.json<View>(["thread", id]);
const roles = ({ steps }: View): string[] => steps.map(({ role }) => role);

/** Runs a command that continues a thread to its end. Old lines of the log must not change. */
async function complete(name: Name, args: string[]): Promise<View> {
  const id = threads[name];
  const old = textOf(id);
  const whole = old.slice(0, old.lastIndexOf("\n") + 1);
  await store.ok([...args, "--wait"]);
  expect(textOf(id).startsWith(whole)).toBe(true);
  const view = await read(id);
  expect(view.status).toBe("completed");
  return view;
}

/** Forks or retries a thread, and waits for the new thread. The original must not change. Returns the new thread. */
async function derive(name: Name, args: string[]): Promise<View> {
  const [command = "", ...options] = args;
  const old = textOf(threads[name]);
  type Forked = { threadId: string };
  const forked = await store.json<Forked>([command, threads[name], ...options, "--wait"]);
  expect(textOf(threads[name])).toBe(old);
  const view = await read(forked.threadId);
  const copied = view.forkFrom?.steps ?? 0;
  expect(view.forkFrom?.threadId).toBe(threads[name]);
  // The copied steps equal the old lines byte for byte, except that the old lines have no checksums.
  const copies = linesOf(forked.threadId)
    .slice(1, copied + 1)
    .map(unsealed);
  expect(copies).toEqual(linesOf(threads[name]).slice(1, copied + 1));
  expect(view.status).toBe("completed");
  return view;
}

afterAll(removeFolders);

describe("reading an old storage root", () => {
  beforeAll(() => {
    store = oldStore();
  });

  test("lists its threads with their statuses", async () => {
    const rows = await store.json<Row[]>(["threads", "--limit", "100"]);
    const found = Object.entries(threads).map(([name, id]) => {
      const row = rows.find(({ threadId }) => threadId === id);
      return `${name}: ${row?.status} with ${row?.steps}`;
    });
    expect(rows).toHaveLength(found.length);
    expect(found).toEqual([
      "plain completed: completed with 3",
      "plain failed: failed with 2",
      "plain stopped after maxRounds: completed with 1",
      "plain killed: killed with 2",
      "plain interrupted: interrupted with 2",
      "plain torn: interrupted with 1",
      "plain corrupt: corrupt with 1",
      "plain fork: completed with 3",
      "plain retry: completed with 3",
      "moderated waiting: waiting with 2",
      "moderated completed: completed with 4",
      "moderated failed: failed with 3",
      "moderated interrupted: interrupted with 0",
      "durable waiting: waiting with 5",
      "durable completed: completed with 7",
      "durable failed: failed with 6",
      "durable interrupted: interrupted with 3",
      "durable fork: waiting with 5",
      "steps waiting: waiting with 5",
      "steps completed: completed with 10",
      "steps interrupted: interrupted with 33",
      "steps rerun: completed with 11",
    ]);
  });

  test("shows each committed step unchanged", async () => {
    for (const name of ["plain completed", "durable waiting", "steps completed"] as const) {
      const { steps } = await read(threads[name]);
      const lines = linesOf(threads[name]).map((line) => JSON.parse(line) as Line);
      expect(steps).toEqual(lines.slice(1).filter(({ role }) => role !== "__end__"));
    }
  });

  test("shows its debug log line by line", async () => {
    const id = threads["plain completed"];
    const lines = (await store.ok(["logs", id, "--json"])).split("\n").map((l) => JSON.parse(l));
    const written = readFileSync(pathOf(id, "info"), "utf8").trimEnd().split("\n");
    expect(lines).toEqual(written.map((line) => JSON.parse(line)));
    const at: unknown = lines[1].payload.messages.at;
    const value = await store.json<string[]>(["thread", id, "--value", String(at)]);
    expect(value).toEqual(["x".repeat(12_000)]);
  });

  test("sums the usage of its threads, and the usage saved by a fork", async () => {
    const ledger = (name: Name) =>
      store.json<{ total: Sum; saved: Sum }>(["thread", threads[name], "--ledger"]);
    const one = { tokens: 1100, cost: 0.0045 };
    expect(await ledger("plain completed")).toMatchObject({ total: one, saved: { tokens: 0 } });
    expect(await ledger("plain fork")).toMatchObject({ total: { tokens: 0 }, saved: one });
  });

  test("derives an attempt from each step's record without other data", async () => {
    type Shown = { attempts: Record<string, unknown>[] };
    const { attempts } = await store.json<Shown>([
      "thread",
      threads["plain completed"],
      "--attempts",
    ]);
    expect(attempts).toHaveLength(3);
    expect(attempts[1]).toMatchObject({
      role: "second",
      step: 2,
      status: "committed",
      startedAt: null,
      turns: [],
      cost: 0.0045,
    });
  });

  test("folds the steps of a step workflow to its state", async () => {
    const checkpoint = await store.ok(["thread", threads["steps waiting"], "--checkpoint"]);
    expect(JSON.parse(checkpoint)).toMatchObject({
      currentStepID: "Branch_Length",
      variables: { $text: "onetwothree", $total: 11 },
    });
  });

  test("verifies it, and finds the torn line and the broken line", async () => {
    const { code, stdout } = await store.run(["verify", "--json"]);
    expect(code).toBe(1);
    const { checked, problems } = JSON.parse(stdout);
    expect(checked).toEqual({ bundles: 4, threads: Object.keys(threads).length });
    const paths = problems.map(({ path, line }: { path: string; line: number }) => [
      basename(path),
      line,
    ]);
    expect(paths).toEqual([
      [`${threads["plain torn"]}.data.jsonl`, 3],
      [`${threads["plain corrupt"]}.data.jsonl`, 3],
    ]);
  });
});

describe("an old thread", () => {
  beforeAll(() => {
    store = oldStore();
  });

  test("of a plain bundle resumes after its last step", async () => {
    const view = await complete("plain interrupted", ["resume", threads["plain interrupted"]]);
    expect(roles(view)).toEqual(["first", "second", "third"]);
    expect(view.result).toEqual({ returnCode: 0, summary: "three steps for Ada" });
  });

  test("with half a record at its end resumes after the last complete record", async () => {
    const view = await complete("plain torn", ["resume", threads["plain torn"]]);
    expect(roles(view)).toEqual(["first", "second", "third"]);
  });

  test("of a moderator resumes and can be answered", async () => {
    await store.run(["resume", threads["moderated interrupted"], "--wait"]);
    for (const name of ["moderated interrupted", "moderated waiting"] as const) {
      const view = await complete(name, ["resume", threads[name], "--input", "true"]);
      expect(roles(view)).toEqual(["writer", "__wait__", "__input__", "printer"]);
      expect(view.result?.summary).toBe("printed 2 steps");
    }
  });

  test("of a durable workflow resumes in the middle of a step.all and can be answered", async () => {
    await store.run(["resume", threads["durable interrupted"], "--wait"]);
    const all = ["fetcher", "planner", "left", "right", "__wait__", "__input__", "shipper"];
    for (const name of ["durable interrupted", "durable waiting", "durable fork"] as const) {
      const view = await complete(name, ["resume", threads[name], "--input", "true"]);
      expect(roles(view)).toEqual(all);
      expect(view.steps.at(-1)?.content).toBe("shipped from the cache");
    }
  });

  test("of steps resumes in the middle of its loop and can be answered", async () => {
    const id = threads["steps interrupted"];
    const before = linesOf(id).length - 1;
    expect(before).toBeGreaterThan(10);
    expect(before).toBeLessThan(250);
    const resumed = await store.run(["resume", id, "--wait"]);
    expect(resumed.code).toBe(0);
    const done = await read(id);
    // 300 words have 1,090 letters, so the branch takes its first case.
    expect(roles(done).filter((role) => role === "Set_Text")).toHaveLength(300);
    expect(roles(done).slice(-3)).toEqual(["Branch_Length", "Set_Answer", "Stop_Done"]);
    const waiting = threads["steps waiting"];
    const view = await complete("steps waiting", ["resume", waiting, "--input", "a note"]);
    expect(roles(view).slice(-3)).toEqual(["Branch_Length", "Set_Answer", "Stop_Done"]);
    const state = JSON.parse(await store.ok(["thread", waiting, "--checkpoint"]));
    expect(state.variables.$text).toBe("onetwothree 6 a note");
  });

  test("can be retried after it failed, was killed or ran out of rounds", async () => {
    const third = ["first", "second", "third"];
    expect(roles(await derive("plain failed", ["retry"]))).toEqual(third);
    expect(roles(await derive("plain killed", ["retry"]))).toEqual(third);
    const rounds = ["retry", "--max-rounds", "10"];
    expect(roles(await derive("plain stopped after maxRounds", rounds))).toEqual(third);
    expect(roles(await derive("moderated failed", ["retry"])).at(-1)).toBe("printer");
    expect(roles(await derive("durable failed", ["retry"])).at(-1)).toBe("shipper");
  });

  test("can be forked", async () => {
    const plain = await derive("plain completed", ["fork", "--at-step", "1", "--prompt", "Grace"]);
    expect(plain.steps.map(({ content }) => content)).toEqual([
      "first: Ada",
      "second: Grace",
      "third: Grace",
    ]);
    expect(roles(await derive("plain fork", ["fork"]))).toHaveLength(3);
    const role = ["fork", "--from-role", "__input__"];
    expect((await derive("moderated completed", role)).result?.summary).toBe("printed 2 steps");
    expect((await derive("durable completed", role)).result?.summary).toBe("shipped");
  });

  test("has attempts with ids from the step at which it was continued", async () => {
    const steps = linesOf(threads["plain interrupted"]).slice(1, -1);
    const ids = steps.map((line) => (JSON.parse(line) as { attempt?: string }).attempt);
    expect(ids).toEqual([undefined, undefined, expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{13}$/)]);
  });

  test("with a broken line can be forked before that line", async () => {
    const view = await derive("plain corrupt", ["fork", "--at-step", "1"]);
    expect(roles(view)).toEqual(["first", "second", "third"]);
  });

  test("of steps can be rerun from a step with another value", async () => {
    const set = ["rerun", "--from-step", "Set_Answer", "--set", '$answer="new"'];
    const view = await derive("steps completed", set);
    expect(roles(view).slice(-3)).toEqual(["__input__", "Set_Answer", "Stop_Done"]);
    const ended = await derive("steps rerun", ["fork"]);
    expect(roles(ended).at(-1)).toBe("Stop_Done");
  });
});
