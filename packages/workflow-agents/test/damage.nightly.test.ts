import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Host, retryOptions, settled, type ThreadRef } from "@uncaged/workflow/host";
import { infoPath, journalPath } from "../../workflow/src/disk/paths.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ModelRuns, type Run } from "./model-runs.ts";
import type { Reply, ReplyTool } from "./wire.ts";

/*
 * Tests damage to a thread's journal while a call waits for an approval without a worker. The answer is refused, no
 * call runs twice and no request is repeated. The thread continues when the file is restored.
 */
setDefaultTimeout(60_000);
let models: ModelRuns;
let host: Host;

const call = (name: string, n: number): ReplyTool => ({ name, input: { n } });
// The input of `big` is the size of its result in MiB.
const usual = [
  [call("big", 0.02), call("big", 0.03)],
  [call("big", 0.001)],
  [call("deploy", 2), call("big", 0.04)],
];
let turns = usual;
const marks = ["0.001", "0.02", "0.03", "0.04", "2"];
const before = ["0.001", "0.02", "0.03"];

function reply(body: object): Reply {
  const { messages, tools: all } = body as {
    messages: { role?: string }[];
    tools?: { name: string }[];
  };
  const isOuter = all?.some(({ name }) => name === "inner") === true;
  const calls = isOuter ? [[{ name: "inner", input: { message: "go on" } }]] : turns;
  const tools = calls[messages.filter(({ role }) => role === "assistant").length];
  return tools ? { text: "I go on. ", tools } : { text: "all done" };
}

beforeAll(async () => {
  models = await ModelRuns.open(reply);
  ({ host } = models);
  await host.register("approve", join(import.meta.dir, "approve/approve.ts"));
}, 180_000);
afterAll(() => models.close());

const journalOf = ({ hash, threadId }: ThreadRef): string =>
  journalPath(models.root, hash, threadId);
const infoOf = ({ hash, threadId }: ThreadRef): string => infoPath(models.root, hash, threadId);
const isEntry = (line: string): boolean => line.includes('"kind":"entry"');
/** Returns the line of the n-th entry, counted from 1, or from the end for negative numbers. */
const entryAt = (lines: readonly string[], n: number): number =>
  lines.flatMap((line, at) => (isEntry(line) ? [at] : [])).at(n > 0 ? n - 1 : n) as number;

/** Returns a thread that waits, without a worker, for the approval of its third turn. */
async function waiting(prompt = "long", done = before): Promise<Run & { asked: number }> {
  turns = prompt === "long" ? usual : [[call("mark", 1)], [call("deploy", 2)]];
  const run = await models.start("approve", prompt);
  expect(await settled(host, run.ref)).toMatchObject({ status: "waiting" });
  await signalWorkers(models.root, "SIGTERM");
  await until(
    async () => {
      const view = await host.read(run.ref);
      return view.status === "waiting" && view.pid === null;
    },
    () => "its worker did not exit",
  );
  expect(marksIn(run)).toEqual(done);
  return { ...run, asked: models.servers.claude.came.length };
}

const marksIn = (run: Run): string[] =>
  models
    .marksOf(run)
    .map((line) => line.replace(/x+$/, ""))
    .sort();

async function answered({ ref, env, cwd }: Run) {
  const input = { content: "true", value: true };
  await host.control(ref, { kind: "answer", input, env, cwd });
  return await settled(host, ref);
}

/** Expects an answer and a fork to fail because of the damaged file. */
async function refusedFor({ ref, env, cwd }: Run, path: string): Promise<void> {
  const input = { content: "true", value: true };
  const { steps } = await host.read(ref);
  for (const act of [
    () => host.control(ref, { kind: "answer", input, env, cwd }),
    async () => host.fork(ref, { keep: { atStep: steps.length }, env }),
  ]) {
    const error = await act().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "LOG_CORRUPT" });
    const { message, hint } = error as { message: string; hint: string };
    expect(message).toMatch(new RegExp(`^${path}:\\d+: [^\n]+$`));
    expect(hint).toContain("restore the file from a backup");
  }
}

type Damage = (lines: string[], other: string[]) => string[];
const damages: Record<string, Damage> = {
  "a lost entry": (lines) => lines.toSpliced(entryAt(lines, 3), 1),
  "a doubled entry": (lines) =>
    lines.toSpliced(entryAt(lines, 3), 0, lines[entryAt(lines, 3)] as string),
  "two swapped entries": (lines) => {
    const [one, two] = [entryAt(lines, 2), entryAt(lines, 3)];
    return lines.with(one, lines[two] as string).with(two, lines[one] as string);
  },
  "an entry of another thread": (lines, other) =>
    lines.with(entryAt(lines, 3), other[entryAt(other, 3)] as string),
  "the journal of another thread": (_, other) => other,
  "a byte of an entry changed": (lines) => {
    const at = lines.findLastIndex((line) => isEntry(line) && line.includes('"n":2'));
    return lines.with(at, (lines[at] as string).replace('"n":2', '"n":3'));
  },
  "a lost last entry": (lines) => lines.slice(0, entryAt(lines, -1)),
};

describe("a journal that is damaged while a call waits for an approval", () => {
  test("stops the thread until it is restored, and no call runs twice", async () => {
    const [run, other] = [await waiting(), await waiting()];
    const { asked } = other;
    const path = journalOf(run.ref);
    const whole = readFileSync(path, "utf8");
    const linesOf = (text: string) => text.trimEnd().split("\n");
    const others = linesOf(readFileSync(journalOf(other.ref), "utf8"));
    for (const damage of Object.values(damages)) {
      writeFileSync(path, `${damage(linesOf(whole), others).join("\n")}\n`);
      await refusedFor(run, path);
    }
    rmSync(path);
    await refusedFor(run, path);
    expect([marksIn(run), models.servers.claude.came.length]).toEqual([before, asked]);
    expect((await host.read(run.ref)).status).toBe("waiting");
    writeFileSync(path, whole, { mode: 0o600 });
    expect((await answered(run)).status).toBe("completed");
    expect([marksIn(run), models.servers.claude.came.length]).toEqual([marks, asked + 1]);
  });

  test("does not affect a fork without the question, which repeats the step", async () => {
    const run = await waiting();
    rmSync(journalOf(run.ref));
    const fork = await host.fork(run.ref, { keep: { atStep: 0 }, env: run.env });
    expect(await settled(host, fork)).toMatchObject({ status: "waiting" });
    const view = await answered({ ...run, ref: fork });
    expect(view.status).toBe("completed");
    expect(marksIn(run)).toEqual([...before, ...marks].sort());
  });

  test("does not depend on the debug log: without that log, the thread continues with the same ledger", async () => {
    const run = await waiting();
    rmSync(infoOf(run.ref));
    expect((await answered(run)).status).toBe("completed");
    expect([marksIn(run), models.servers.claude.came.length]).toEqual([marks, run.asked + 1]);
    rmSync(infoOf(run.ref));
    await models.expectCounted(run.ref);
  });

  test("stops a called role that waits for an approval, and a retry does not need its source thread", async () => {
    const run = await waiting("outer", ["1"]);
    const path = journalOf(run.ref);
    const whole = readFileSync(path, "utf8");
    const lines = whole.trimEnd().split("\n");
    expect(lines.filter(isEntry).length).toBe(4);
    writeFileSync(path, `${lines.slice(0, entryAt(lines, 3)).join("\n")}\n`);
    await refusedFor(run, path);
    expect([marksIn(run), models.servers.claude.came.length]).toEqual([["1"], run.asked]);
    writeFileSync(path, whole);
    await host.control(run.ref, { kind: "kill" });
    const fork = await host.fork(run.ref, retryOptions(await host.read(run.ref), { env: run.env }));
    expect((await settled(host, fork)).status).toBe("waiting");
    await host.remove(run.ref);
    expect((await answered({ ...run, ref: fork })).status).toBe("completed");
    expect([marksIn(run), models.servers.claude.came.length]).toEqual([["1", "2"], run.asked + 2]);
  });
});
