import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { retryOptions, settled } from "@uncaged/workflow/host";
import { AiSdkRuns, call } from "./ai-sdk-runs.ts";

/* Tests programs of the AI SDK in steps, with a few kills of their processes. */
setDefaultTimeout(180_000);
const top = join(import.meta.dir, "../../..");
let runs: AiSdkRuns;

const marking = [
  [call("mark", 1), call("mark", 2)],
  [call("watch", 3), call("fail", 4)],
];

beforeAll(async () => {
  runs = await AiSdkRuns.open();
}, 180_000);
afterAll(() => runs.models.close());

test.each([
  ["claude", "generate"],
  ["gpt", "agent-stream"],
  ["responses", "stream"],
] as const)("a program of %s that calls %s continues after a kill", async (model, way) => {
  runs.turns = marking;
  const run = await runs.start(model, way);
  const { view } = await runs.finished(run);
  expect(view.status).toBe("completed");
  expect(runs.marksOf(run)).toEqual([1, 2, 3, 4]);
  const whole = runs.bodiesOf(model);
  expect([...whole.values()].map(({ length }) => length)).toEqual([1, 1, 1]);
  for (const [at, twice] of [
    [{ turn: 2, kind: "asked" }, [2]],
    ["end", []],
  ] as const) {
    const killed = await runs.start(model, way, at);
    const { view: again, resumes } = await runs.finished(killed);
    expect([again.status, resumes, again.steps[0]?.content]).toEqual([
      "completed",
      1,
      view.steps[0]?.content,
    ]);
    runs.expectSame(model, whole, twice);
    expect(runs.marksOf(killed)).toEqual([1, 2, 3, 4]);
  }
});

test("the sample of the guide runs", async () => {
  const { host, servers } = runs.models;
  const sample = readFileSync(join(top, "examples/ai-sdk/workflow.ts"), "utf8");
  expect(readFileSync(join(top, "docs/guides/ai-sdk.md"), "utf8")).toContain(sample);
  // The sample calls the real service. Replace its address by the test server's.
  const source = sample
    .replace("{ anthropic }", "{ createAnthropic }")
    .replace("anthropic(", "createAnthropic({ baseURL: `${process.env.ANTHROPIC_BASE_URL}/v1` })(");
  const file = join(top, ".cache/ai-sdk/workflow.ts");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, source);
  await host.register("trip", file);
  runs.turns = [
    [{ name: "weather", input: { city: "Rome" } }],
    [{ name: "book", input: { city: "Rome" } }],
  ];
  const run = await runs.models.start("trip", "A weekend in Rome");
  const { view, questions } = await runs.finished(run, { before: () => runs.models.kill() });
  expect([view.status, questions.length]).toEqual(["completed", 1]);
  expect(JSON.stringify(servers.claude.came[2]?.body)).toContain("booked Rome as toolu_1_0");
  expect(servers.claude.came.length).toBe(3);
});

test("a retry repeats only the request whose answer failed the step", async () => {
  const { host } = runs.models;
  runs.turns = [[call("mark", 1)]];
  const run = await runs.start("claude", "object");
  const view = await settled(host, run.ref);
  expect(view).toMatchObject({ status: "failed", error: { name: "AI_NoObjectGeneratedError" } });
  const { env } = run;
  // The first retry gets an unusable answer too. The second retry gets a usable answer.
  const again = await host.fork(run.ref, retryOptions(view, { env }));
  const failed = await settled(host, again);
  expect(failed.status).toBe("failed");
  runs.last = '{"done":true}';
  const third = await host.fork(again, retryOptions(failed, { env }));
  const { status, steps } = await settled(host, third);
  runs.last = "all done";
  expect([status, steps.at(-1)?.content]).toEqual(["completed", '{"done":true}']);
  const counts = [...runs.bodiesOf("claude").values()].map(({ length }) => length);
  expect(counts).toEqual([1, 3]);
  expect(runs.marksOf(run)).toEqual([1]);
  await runs.models.expectCounted(run.ref, again, third);
});

test("a thread's limit prevents a call that could exceed it", async () => {
  const { host, servers } = runs.models;
  runs.turns = [];
  const { ref: first, env, cwd } = await runs.start("claude", "generate");
  expect((await settled(host, first)).status).toBe("completed");
  const [workflow, prompt, options] = ["assistant", "claude generate", { maxCost: 0.001 }];
  const ref = await host.start({ workflow, prompt, env, cwd, options });
  expect(await settled(host, ref)).toMatchObject({
    status: "failed",
    error: { code: "BUDGET_EXCEEDED" },
  });
  expect(servers.claude.came.length).toBe(1);
});

test("a call that needs an approval makes the thread wait, and runs once", async () => {
  runs.turns = [[call("mark", 1), call("deploy", 2)]];
  const run = await runs.start("claude", "generate");
  const { view, questions } = await runs.finished(run, { before: () => runs.models.kill() });
  expect(view.status).toBe("completed");
  expect(questions).toMatchObject([{ for: "tool", tool: "deploy", input: { n: 2 } }]);
  expect(runs.marksOf(run)).toEqual([1, 2]);
  expect(runs.bodiesOf("claude").get(2)?.length).toBe(1);
});
