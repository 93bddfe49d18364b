import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Step, WorkflowFn } from "@uncaged/workflow";
import { fixtureOf, type ThreadView } from "@uncaged/workflow/host";
import { recordedInput } from "@uncaged/workflow/internal";
import { runThread, type ThreadOutcome } from "@uncaged/workflow/testing";
import { fileAdapter } from "../src/adapters/file.ts";
import { stepsBundle, type WorkflowDocument } from "../src/entry/index.ts";
import { run as marking } from "./bundles/marking.ts";

/* Threads of step workflows that replay a recorded thread, without calls and without files. */
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "uncaged-steps-fixture-"));
  folders.push(folder);
  return folder;
}

function fixtureFrom(outcome: ThreadOutcome, prompt = "") {
  const known = { status: "completed", threadId: "T", workflow: "w", hash: "H", prompt };
  return fixtureOf({ ...outcome, ...known } as unknown as ThreadView);
}

type Fixture = ReturnType<typeof fixtureFrom>;

/** Replays a thread and its answers from a fixture, in its own folder. */
async function answered(
  run: WorkflowFn,
  fixture: Fixture,
  { steps, at = newFolder() }: { steps?: Step[]; at?: string } = {},
) {
  const log: Step[] = [...(steps ?? [])];
  return await runThread(run, {
    ...{ prompt: fixture.prompt, cwd: at, threadId: "U", maxRounds: 1000, options: { fixture } },
    ...(steps && { steps }),
    answers(wait) {
      log.push(wait);
      const { content = "", meta = {}, value } = recordedInput(fixture, log) ?? {};
      return { content, meta: { ...meta, ...(value !== undefined && { value }) } };
    },
  });
}

/** Returns the writes of steps without run ids. Sorts the writes, because some steps are concurrent. */
const written = ({ steps }: Pick<ThreadOutcome, "steps">) =>
  steps
    .map(({ role, meta }) => {
      const values = (meta.variables ?? []) as { path: unknown; value: unknown }[];
      return JSON.stringify([role, meta.next, values.map(({ path, value }) => [path, value])]);
    })
    .toSorted((a, b) => a.localeCompare(b));

test("a fork, loops, a branch and a child workflow replay the recorded run", async () => {
  const first = await runThread(marking, { prompt: "all", cwd: newFolder(), maxRounds: 1000 });
  expect(first.status).toBe("completed");
  const fixture = fixtureFrom(first, "all");
  const at = newFolder();
  const second = await answered(marking, fixture, { at });
  expect([second.status, written(second)]).toEqual(["completed", written(first)]);
  expect(readdirSync(at)).toEqual([]);
  // A thread resumed after any of its steps replays the same run.
  for (let kept = 1; kept < second.steps.length; kept += 4) {
    const again = await answered(marking, fixture, { steps: second.steps.slice(0, kept) });
    expect([kept, written(again)]).toEqual([kept, written(first)]);
  }
}, 60_000);

const document: WorkflowDocument = {
  version: "3.18",
  name: "answered",
  registry: { vars: ["$plan(STRING)", "$problem(STRING)", "$answer(STRING)", "$n(INT) = 0"] },
  steps: [
    { id: "Work_Plan", out: { $plan: "=_result", "/plan.md": "=_result" }, next: "Work_Fails" },
    { id: "Work_Fails", onError: "Set_Problem", next: "Set_Problem" },
    { id: "Set_Problem", target: "$problem", value: "handled", next: "Write_It" },
    { id: "Write_It", target: "/it.md", value: "=$plan", next: "Pause_Ask" },
    { id: "Pause_Ask", resumeResultTarget: "$answer", next: "Work_Count" },
    { id: "Work_Count", out: { $n: "=$n + _result" }, next: "Branch_More" },
    {
      id: "Branch_More",
      cases: [
        ["$n < 3", "Work_Count"],
        ["ELSE", "Stop_End"],
      ],
    },
    { id: "Stop_End" },
  ],
};

/** The bundle's `run`, and a list of the executed steps. */
function working() {
  const done: string[] = [];
  const { run } = stepsBundle(document, {
    adapters: ({ cwd = "." }) => ({ file: fileAdapter({ cwd }) }),
    customHandlers: {
      Work: async (_, { id }) => {
        done.push(id);
        if (id === "Work_Fails") throw new Error("no luck");
        return id === "Work_Count" ? 1 : "the plan";
      },
    },
  });
  return { run, done };
}

test("handlers, files, a handled error, a Pause and a repeated step replay", async () => {
  const { run, done } = working();
  const at = newFolder();
  const first = await runThread(run, { cwd: at, answers: ["yes"] });
  expect(first.status).toBe("completed");
  expect(readdirSync(at).toSorted()).toEqual(["it.md", "plan.md"]);
  const before = [...done];
  const other = newFolder();
  const second = await answered(run, fixtureFrom(first), { at: other });
  expect([second.status, written(second)]).toEqual(["completed", written(first)]);
  expect([done, readdirSync(other)]).toEqual([before, []]);
});

const child: WorkflowDocument = {
  version: "3.18",
  name: "child",
  registry: {},
  steps: [{ id: "Work_Inner", next: "RETURN" }],
};

const failing: WorkflowDocument = {
  version: "3.18",
  name: "failing",
  registry: {
    vars: ["$seen(LIST) = []", "$half(STRING)", "$why(MAP)", "$inner(STRING)", "$tries(INT) = 0"],
  },
  steps: [
    { id: "Work_Again", onError: "Work_Again", next: "Work_Half" },
    { id: "Work_Half", onError: "Set_Why", next: "Set_Why" },
    { id: "Set_Why", target: "$why", value: "=_error", next: "Loop_Two" },
    {
      id: "Loop_Two",
      source: [0, 1],
      children: ["Work_Odd"],
      errorStrategy: "continue",
      mode: "parallel",
      next: "Subflow_Child",
    },
    { id: "Work_Odd", next: "RETURN" },
    {
      id: "Subflow_Child",
      input: { workflow_path: "child.json" },
      onError: "Set_Inner",
      next: "Set_Inner",
    },
    { id: "Set_Inner", target: "$inner", value: "=_error.message", next: "Stop_End" },
    { id: "Stop_End" },
  ],
};

/** Returns a workflow with every kind of step failure that does not fail the run, and a count of executed calls. */
function failingRun() {
  const done: string[] = [];
  const { run } = stepsBundle(failing, {
    subflows: { "child.json": child },
    customHandlers: {
      Work: async (context, { id }) => {
        done.push(id);
        if (id === "Work_Again" && done.length > 2) return "third time";
        if (id === "Work_Half") context.set(["$half"], "half", id);
        if (id === "Work_Odd" && context.evaluate("=_index") === 0) return "even";
        throw Object.assign(new Error(`no luck in ${id}, with s3cret-of-the-key`), {
          code: "E_LUCK",
          type: "rate_limit",
        });
      },
    },
  });
  return { run, done };
}

const env = { LUCK_API_KEY: "s3cret-of-the-key" };

test("failed steps fail again in the replay: handled, repeated, dropped, and in a child workflow", async () => {
  const { run, done } = failingRun();
  const first = await runThread(run, { env, maxRounds: 1000 });
  expect(first).toMatchObject({ status: "completed" });
  const carriedOut = [...done];
  const fixture = fixtureFrom(first);
  const second = await answered(run, fixture);
  expect(second).toMatchObject({ status: "completed" });
  expect(written({ steps: bare(second.steps) })).toEqual(written({ steps: bare(first.steps) }));
  expect(done).toEqual(carriedOut);
  const why = second.steps.find(({ role }) => role === "Set_Why")?.meta.variables;
  const message = "no luck in Work_Half, with ***";
  expect(why).toMatchObject([
    { path: ["$half"], value: "half" },
    {
      path: ["$why"],
      value: { type: "rate_limit", code: "E_LUCK", retryable: true, message, stepID: "Work_Half" },
    },
  ]);
  // A replayed thread can be a fixture, and a resumed thread replays the same run.
  const third = await answered(run, fixtureFrom(second));
  expect(written(third)).toEqual(written(second));
  for (let kept = 1; kept < second.steps.length; kept += 1) {
    const again = await answered(run, fixture, { steps: second.steps.slice(0, kept) });
    expect([kept, again.status, written(again)]).toEqual([kept, "completed", written(second)]);
  }
  expect(done).toEqual(carriedOut);
}, 30_000);

/** Removes the secret from steps, because only one of the threads has the secret. */
const bare = (steps: Step[]): Step[] =>
  JSON.parse(JSON.stringify(steps).replaceAll(env.LUCK_API_KEY, "***")) as Step[];

test.each(["Work_Again", "Work_Half", "Work_Odd", "Subflow_Child/Work_Inner"])(
  "a missing answer of %s fails the thread, even with a handler",
  async (id) => {
    const { run, done } = failingRun();
    const first = await runThread(run, { env, maxRounds: 1000 });
    const before = [...done];
    const fixture = fixtureFrom(first);
    const steps = fixture.steps
      .filter(({ role }) => role !== id)
      .map((step) => {
        const failures = (step.meta.failures ?? []) as { stepID: string }[];
        const others = failures.filter(({ stepID }) => stepID !== id);
        return { ...step, meta: { ...step.meta, failures: others } };
      });
    const second = await answered(run, { ...fixture, steps });
    expect(second).toMatchObject({
      status: "failed",
      message: expect.stringContaining(`no answer for run 1 of step ${id}`),
      error: { code: "NO_RECORDED_ANSWER" },
    });
    expect(done).toEqual(before);
    const handlers = ["Set_Why", "Subflow_Child", "Set_Inner", "Stop_End"];
    const after = handlers.slice(id === "Work_Again" || id === "Work_Half" ? 0 : 1);
    const ended = second.steps.filter(({ meta }) => meta.phase === "done");
    expect(ended.filter(({ role }) => after.includes(role))).toEqual([]);
  },
);
