import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { RunResult } from "../src/entry/api-types.ts";
import {
  agent,
  approval,
  Drawn,
  graphOf,
  linesOf,
  messagesOf,
  resultOf,
  runIdOf,
  start,
} from "./graph-client.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

setDefaultTimeout(180_000);

let drawn: Drawn;
/** Names of agents that fail while they are in this set. */
const broken = new Set<string>();

beforeAll(async () => {
  drawn = await Drawn.start((asked) => {
    const who = /you are (\w+)/.exec(asked)?.[1] ?? "";
    if (who === "slow") return { text: "at last", repeat: 8, tokenMs: 50 };
    if (broken.has(who)) {
      const fault = {
        kind: "status",
        status: 400,
        type: "bad",
        message: `${who} is broken`,
      } as const;
      return { fault };
    }
    return { text: `${who} read ${asked.split("\n").at(-1)}`, tokenMs: 1 };
  });
}, 180_000);
afterAll(() => drawn.stop(), 180_000);

const asked = graphOf(
  [start("tea"), approval("one"), agent("a"), approval("two"), agent("b")],
  "s one",
  "one approve a",
  "a two",
  "two approve b",
);
const recordOf = (runId: string) => join(drawn.serving.path, "data", "runs", `run_${runId}.json`);
const recorded = (runId: string) => JSON.parse(readFileSync(recordOf(runId), "utf8")) as RunResult;

async function paused(graph: object): Promise<string> {
  const { body } = await drawn.post("run", { graph });
  expect(body.status).toBe("paused");
  return body.runId;
}

test("a run continues after its client disconnects: it is shown as running, ends, and has a record", async () => {
  const graph = graphOf([start("tea"), agent("slow"), agent("b")], "s slow", "slow b");
  const left = await drawn.stream("run-stream", { graph }, ({ type }) => type === "log");
  const runId = runIdOf(left);
  expect(await drawn.run(runId)).toMatchObject({ status: "running", currentNodeId: "s" });
  const followed = await drawn.follow(runId);
  const done = resultOf(followed);
  expect(done.status).toBe("completed");
  expect(await drawn.run(runId)).toEqual(done);
  await until(() => recorded(runId).status !== "running");
  expect(recorded(runId)).toEqual(done);
  expect(statSync(recordOf(runId)).mode & 0o777).toBe(0o600);
  expect(readFileSync(recordOf(runId), "utf8")).toStartWith('{\n  "runId": ');
});

test("a stream by GET continues at its position, even across a wait, and ends with 204", async () => {
  const runId = await paused(asked);
  const id = await lastIdOf(runId);
  const held = await drawn.serving.fetch(`/api/run/${runId}/events`, {
    headers: { "Last-Event-ID": id },
  });
  const rest = Array.fromAsync(messagesOf(held));
  const resumed = await drawn.stream("resume-stream", { runId, input: "yes" });
  expect((await rest).slice(0, -1)).toEqual(resumed.slice(1, -1));
  expect(resultOf(await rest)).toMatchObject({ status: "paused", currentNodeId: "two" });
  await drawn.post("cancel", { runId });
  const last = await lastIdOf(runId);
  const over = await drawn.serving.fetch(`/api/run/${runId}/events`, {
    headers: { "Last-Event-ID": last },
  });
  expect(over.status).toBe(204);
});

async function lastIdOf(runId: string): Promise<string> {
  const text = await (await drawn.serving.fetch(`/api/run/${runId}/events`)).text();
  return (
    text
      .match(/^id: .*$/gm)
      ?.at(-1)
      ?.slice(4) ?? ""
  );
}

test("a retry runs the failed node and its successors, and shows the log of the kept steps", async () => {
  broken.add("weak");
  const nodes = [
    start("tea"),
    agent("a"),
    agent("weak"),
    agent("slow"),
    agent("after"),
    agent("end"),
  ];
  const graph = graphOf(nodes, "s a", "a weak", "a slow", "weak end", "slow after", "after end");
  const failed = await drawn.post("run", { graph });
  expect(failed.body).toMatchObject({
    ...{ status: "failed", state: { slow: expect.stringContaining("at last") as unknown } },
  });
  const errors = (run: RunResult) => run.logs.filter(({ type }) => /error/.test(type));
  expect(errors(failed.body).map(({ nodeId, type }) => [nodeId, type])).toEqual([
    ["weak", "llm_error"],
  ]);
  expect(Object.keys(failed.body.state)).not.toContain("after");
  broken.delete("weak");
  const before = drawn.model.came.length;
  const { status, body } = await drawn.post("retry", { runId: failed.body.runId });
  expect(status).toBe(200);
  expect(body.runId).not.toBe(failed.body.runId);
  const done = await drawn.until(body.runId, (run) => run.status !== "running");
  expect(done).toMatchObject({
    status: "completed",
    state: { end: expect.any(String) as unknown },
  });
  expect(drawn.model.came.slice(before)).toHaveLength(3);
  expect(errors(done)).toEqual([]);
  const started = linesOf(done).filter((line) => line.includes("step_start"));
  const ids = new Set(started.map((line) => line.split(" ")[0]));
  expect([started.length, ids]).toEqual([6, new Set(["s", "a", "slow", "weak", "after", "end"])]);
  const shown = await drawn.follow(body.runId);
  expect(shown.flatMap((one) => (one.type === "log" ? [one.entry] : []))).toEqual(done.logs);
  const again = await drawn.post("retry", { runId: body.runId, nodeId: "end" });
  const end = await drawn.until(again.body.runId, (run) => run.status === "completed");
  expect(drawn.model.came.slice(before)).toHaveLength(4);
  expect(end.state).toEqual(done.state);
});

test("runs register no workflow, and the same graph is built to one version", async () => {
  const runs = await Promise.all(
    Array.from({ length: 20 }, () => drawn.post("run", { graph: graphOf([start("same")]) })),
  );
  expect(runs.map(({ body }) => body.status)).toEqual(runs.map(() => "completed"));
  const threads = await drawn.serving.ok<{ hash: string }[]>("/api/threads?limit=20");
  expect(new Set(threads.map(({ hash }) => hash)).size).toBe(1);
  expect(await drawn.serving.ok<object[]>("/api/workflows")).toEqual([]);
  expect(runs.every(({ body }) => existsSync(recordOf(body.runId)))).toBe(true);
});
