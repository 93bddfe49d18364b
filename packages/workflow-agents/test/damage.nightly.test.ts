import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Host, retryOptions, settled, type ThreadRef } from "@uncaged/workflow/host";
import { infoPath, valuesPath } from "../../workflow/src/disk/paths.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ModelRuns, type Run } from "./model-runs.ts";
import type { Reply, ReplyTool } from "./wire.ts";

/*
 * What a role has recorded is damaged while a call of its waits for an approval, its worker gone: after the answer nothing
 * is done twice and no model asked again. The thread fails, and goes on once the files are back.
 */
setDefaultTimeout(60_000);
let models: ModelRuns;
let host: Host;

const call = (name: string, n: number): ReplyTool => ({ name, input: { n } });
// Each of `big` has as many MiB: its result is in the file of values.
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

type Files = { info: string; values: string };
const pathsOf = ({ hash, threadId }: ThreadRef): Files => ({
  info: infoPath(models.root, hash, threadId),
  values: valuesPath(models.root, hash, threadId),
});
const linesOf = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n");
const write = (path: string, lines: string[]) => writeFileSync(path, `${lines.join("\n")}\n`);
const isEntry = (line: string): boolean => line.includes('"type":"journal"');
/** Where the n-th entry is among the lines, from 1; from the end, from -1. */
const entryAt = (lines: string[], n: number): number =>
  lines.flatMap((line, at) => (isEntry(line) ? [at] : [])).at(n > 0 ? n - 1 : n) as number;

/** A thread whose worker has left it waiting for the approval of its third turn. */
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
    () => "its worker did not leave",
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

async function retried({ ref, env }: Run) {
  const fork = await host.fork(ref, retryOptions(await host.read(ref), { env }));
  return await settled(host, fork);
}

const damages: Record<string, (files: Files) => void> = {
  "the file of values deleted": ({ values }) => rmSync(values),
  "a byte of each value changed": ({ values }) =>
    write(
      values,
      linesOf(values).map((line) => line.replace("xxx", "xyx")),
    ),
  "the debug log deleted": ({ info }) => rmSync(info),
  "the debug log cut before its last entry": ({ info }) => {
    const lines = linesOf(info);
    write(info, lines.slice(0, entryAt(lines, -1)));
  },
  "an entry removed": ({ info }) => {
    const lines = linesOf(info);
    lines.splice(entryAt(lines, 3), 1);
    write(info, lines);
  },
  "a byte of an entry changed": ({ info }) => {
    const lines = linesOf(info);
    const at = entryAt(lines, 6);
    expect(lines[at]).toContain('"n":2');
    lines[at] = (lines[at] ?? "").replace('"n":2', '"n":3');
    write(info, lines);
  },
};

describe("what was recorded, damaged while a call waits for an approval (F29)", () => {
  test.each(Object.keys(damages))(
    "fails the thread and has nothing done twice: %s",
    async (name) => {
      const run = await waiting();
      const files = pathsOf(run.ref);
      const whole = { info: readFileSync(files.info), values: readFileSync(files.values) };
      damages[name]?.(files);
      const view = await answered(run);
      const error = view.status === "failed" ? view.error : null;
      const message = view.status === "failed" ? view.result.summary : "";
      expect({ status: view.status, error }).toMatchObject({
        status: "failed",
        error: { code: "LOG_CORRUPT" },
      });
      const named = [files.info, files.values].filter((path) => message.includes(path));
      expect(named.length).toBeGreaterThan(0);
      expect(message).not.toContain("\n");
      expect(error?.hint).toContain("nothing was done again");
      expect(marksIn(run)).toEqual(before);
      // A retry finds the same, and the thread goes on in one once the files are back.
      expect(await retried(run)).toMatchObject({
        status: "failed",
        error: { code: "LOG_CORRUPT" },
      });
      expect([marksIn(run), models.servers.claude.came.length]).toEqual([before, run.asked]);
      writeFileSync(files.info, whole.info);
      writeFileSync(files.values, whole.values);
      expect((await retried(run)).status).toBe("completed");
      expect([marksIn(run), models.servers.claude.came.length]).toEqual([marks, run.asked + 1]);
    },
  );

  test("does not concern a fork that leaves the question out: it does the step anew", async () => {
    const run = await waiting();
    const { info } = pathsOf(run.ref);
    rmSync(info);
    expect((await answered(run)).status).toBe("failed");
    const fork = await host.fork(run.ref, { keep: { atStep: 0 }, env: run.env });
    expect(await settled(host, fork)).toMatchObject({ status: "waiting" });
    expect(existsSync(info)).toBe(true);
    const view = await answered({ ...run, ref: fork });
    expect(view.status).toBe("completed");
    // It does all of it anew, as it was asked to.
    expect(marksIn(run)).toEqual([...before, ...marks].sort());
  });

  test("goes on where nothing is damaged, and where only lines are that are no part of it", async () => {
    const run = await waiting();
    const { info } = pathsOf(run.ref);
    write(
      info,
      linesOf(info).filter((line) => isEntry(line) || line.includes("attempt_start")),
    );
    expect((await answered(run)).status).toBe("completed");
    expect([marksIn(run), models.servers.claude.came.length]).toEqual([marks, run.asked + 1]);
  });

  test("fails a thread where a role asks that another one has called", async () => {
    const run = await waiting("outer", ["1"]);
    const { info } = pathsOf(run.ref);
    const lines = linesOf(info);
    expect(lines.filter(isEntry).length).toBe(4);
    write(info, lines.slice(0, entryAt(lines, 3)));
    const view = await answered(run);
    expect(view).toMatchObject({ status: "failed", error: { code: "LOG_CORRUPT" } });
    expect([marksIn(run), models.servers.claude.came.length]).toEqual([["1"], run.asked]);
    write(info, lines);
    expect((await retried(run)).status).toBe("completed");
    expect([marksIn(run), models.servers.claude.came.length]).toEqual([["1", "2"], run.asked + 2]);
  });
});
