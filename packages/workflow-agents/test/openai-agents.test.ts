import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settled } from "@uncaged/workflow/host";
import { codeOf } from "../../workflow/test/fixtures/until.ts";
import { bundlePath, dataPath, infoPath, journalPath } from "../../workflow/src/disk/paths.ts";
import { ledgerOf } from "../src/ledger/ledger.ts";
import { AgentsRuns } from "./agents-runs.ts";

/*
 * Tests programs of OpenAI's Agents SDK in the steps of real workers, with a few kills. The nightly suite has a kill at
 * each event.
 */
setDefaultTimeout(120_000);
let runs: AgentsRuns;

beforeAll(async () => {
  runs = await AgentsRuns.open();
  const { host } = runs.models;
  await host.register("agents", join(import.meta.dir, "openai-agents/programs.ts"));
  await host.register("exported", join(import.meta.dir, "openai-agents/exported.ts"));
}, 120_000);
afterAll(() => runs.models.close());

const pay = { for: "tool", tool: "pay", input: { n: 6 }, stepID: "agents" };

describe.each(["support", "streamed"])("the program %s", (program) => {
  test("runs a guardrail, parallel tools, a handoff and an approval", async () => {
    const run = await runs.start("agents", program);
    const { view, questions } = await runs.finished(run);
    expect(view).toMatchObject({
      status: "completed",
      result: { summary: "Refunds: all is done" },
    });
    expect(questions).toMatchObject([pay]);
    expect(runs.models.marksOf(run).sort()).toEqual(["1", "2", "4", "6"]);
    expect(runs.answered().length).toBe(5);
    await runs.models.expectCounted(run.ref);
    const [attempt] = (await runs.models.host.attempts(run.ref)).slice(-1);
    const turns = attempt?.turns.map((turn) => ("name" in turn ? turn.name : turn.text));
    expect(turns).toEqual([
      '{"isBad": false}',
      "two at once",
      ...["mark", "mark", "transfer_to_Refunds", "mark", "pay"],
      "all is done",
    ]);
    expect(ledgerOf(await runs.models.host.attempts(run.ref)).total.cost).toBeGreaterThan(0);
  });

  const deaths = [
    { request: 3, kind: "asked" },
    ...(program === "streamed" ? [{ request: 5, kind: "answering" }] : ["after 2", "end"]),
  ] as Parameters<AgentsRuns["start"]>[2][];
  test.each(deaths)("continues after a kill at %j", async (at) => {
    const run = await runs.start("agents", program, at);
    const { view } = await runs.finished(run);
    expect(view).toMatchObject({
      status: "completed",
      result: { summary: "Refunds: all is done" },
    });
    const answered = runs.answered();
    expect(new Set(answered).size).toBe(answered.length);
    expect(answered.length).toBe(5);
    await runs.models.expectCounted(run.ref);
  });

  test("does not run a call that a person refuses, and reports the refusal to the model", async () => {
    const run = await runs.start("agents", program);
    const answer = { approve: false, reason: "too much" };
    const { view } = await runs.finished(run, { answer, before: () => runs.models.kill() });
    expect(view.status).toBe("completed");
    expect(runs.models.marksOf(run).sort()).toEqual(["1", "2", "4"]);
    expect(runs.answered().at(-1)).toContain("a person refused this call: too much");
  });
});

test("a hosted MCP tool runs only if a person approves its call", async () => {
  for (const [answer, text] of [
    [true, "found it"],
    [false, "refused"],
  ] as const) {
    const run = await runs.start("agents", "hosted");
    const { view, questions } = await runs.finished(run, { answer });
    expect(questions).toMatchObject([{ tool: "look_up", input: { q: "it" } }]);
    expect(view).toMatchObject({ result: { summary: text } });
  }
});

test("an answer that is not a decision is refused, and the thread still waits", async () => {
  const run = await runs.start("agents", "support");
  await settled(runs.models.host, run.ref);
  const { ref, env, cwd } = run;
  const input = { content: "perhaps", value: "perhaps", meta: {} };
  const refused = runs.models.host.control(ref, { kind: "answer", input, env, cwd });
  expect(await codeOf(refused)).toBe("NOT_A_DECISION");
  expect((await settled(runs.models.host, ref)).status).toBe("waiting");
  expect(runs.models.marksOf(run).sort()).toEqual(["1", "2", "4"]);
});

test("sessions and agents as tools continue after a kill", async () => {
  const run = await runs.start("agents", "team", { request: 6, kind: "asked" });
  const { view } = await runs.finished(run);
  expect(view).toMatchObject({ status: "completed" });
  const whole = await runs.start("agents", "team");
  const undisturbed = await runs.finished(whole);
  expect(view).toMatchObject({
    result: "result" in undisturbed.view ? undisturbed.view.result : null,
  });
});

test("the example of the guide asks for an approval before a refund", async () => {
  const top = join(import.meta.dir, "../../..");
  const example = join(top, "examples/openai-agents/workflow.ts");
  const guide = readFileSync(join(top, "docs/guides/openai-agents.md"), "utf8");
  expect(guide).toContain(readFileSync(example, "utf8"));
  await runs.models.host.register("example", example);
  const { view, questions } = await runs.finished(await runs.start("example", "Money back"));
  expect(questions).toMatchObject([{ tool: "refund", input: { order: "A-1", amount: 150 } }]);
  expect(view).toMatchObject({ result: { summary: "You get 150 back." } });
});

test("no log contains the key of the model's server", async () => {
  const run = await runs.start("agents", "support");
  await runs.finished(run);
  const { root, servers } = runs.models;
  const { hash, threadId } = run.ref;
  for (const path of [dataPath, infoPath, journalPath]) {
    expect(readFileSync(path(root, hash, threadId), "utf8")).not.toContain(servers.responses.key);
  }
});

describe("a program with the structure of an Agent Builder export", () => {
  const programs = [
    ["planning", { output_text: "a plan" }, 1],
    ["knowledge", { output_text: "on its way" }, 3],
    ["service", { message: "Your return is on the way." }, 2],
  ] as const;

  test.each(programs)(
    "%s continues after a kill at its last request",
    async (name, value, requests) => {
      const run = await runs.start("exported", name, { request: requests, kind: "asked" });
      const { view, questions } = await runs.finished(run, { answer: { decision: "approve" } });
      expect(view).toMatchObject({ status: "completed", result: { value } });
      expect(runs.answered().length).toBe(requests);
      expect(questions.map(({ for: what }) => what)).toEqual(
        name === "service" ? ["approval"] : [],
      );
      await runs.models.expectCounted(run.ref);
    },
  );

  test("takes the other branch when a person rejects", async () => {
    const run = await runs.start("exported", "service");
    const answer = { decision: "reject" };
    const { view } = await runs.finished(run, { answer, before: () => runs.models.kill() });
    expect(view).toMatchObject({
      result: { value: { message: "What else can I help you with?" } },
    });
    expect(runs.answered().length).toBe(2);
  });
});

test("a bundle has only the author's copy of the SDK", async () => {
  const { host, folder } = runs.models;
  const project = join(folder, "project");
  const sdk = join(project, "node_modules/@openai/agents");
  const ours = join(project, "node_modules/@uncaged");
  for (const path of [sdk, ours]) mkdirSync(path, { recursive: true });
  for (const name of ["workflow", "workflow-agents"]) {
    symlinkSync(join(import.meta.dir, "../..", name), join(ours, name));
  }
  const manifest = { name: "@openai/agents", version: "0.20.0", main: "index.js", type: "module" };
  writeFileSync(join(sdk, "package.json"), JSON.stringify(manifest));
  const classes = ["Agent", "Runner", "OpenAIProvider", "Usage"];
  const functions = ["setDefaultModelProvider", "setTraceProcessors"];
  const exported = [
    ...classes.map((name) => `export class ${name} { copy = "the author's"; }`),
    ...functions.map((name) => `export function ${name}() {}`),
  ];
  writeFileSync(join(sdk, "index.js"), exported.join("\n"));
  const source = `import "@uncaged/workflow-agents/openai-agents/auto";
    import { Agent } from "@openai/agents";
    import { durable } from "@uncaged/workflow";
    export const descriptor = { description: "x", roles: {} };
    export const run = durable(async function* () { return String(new Agent()); });`;
  writeFileSync(join(project, "flow.ts"), source);
  const { hash } = await host.register("one-copy", join(project, "flow.ts"));
  const bundle = readFileSync(bundlePath(runs.models.root, hash), "utf8");
  expect(bundle.match(/the author's/g)?.length).toBe(classes.length);
  expect(bundle).not.toContain("class RunHooks");
});
