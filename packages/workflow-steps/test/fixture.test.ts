import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Step, WorkflowFn } from "@uncaged/workflow";
import { fixtureOf, recordedInput, type ThreadView } from "@uncaged/workflow/host";
import { runThread, type ThreadOutcome } from "@uncaged/workflow/testing";
import { fileAdapter } from "../src/adapters/file.ts";
import { stepsBundle, type WorkflowDocument } from "../src/index.ts";
import { run as marking } from "./bundles/marking.ts";

/* Threads of step workflows that are answered by what another one has recorded: nothing is called, nothing is written. */
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

/** Answers a thread and its questions by a fixture, in a folder of its own. */
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

/** What steps have written, without the ids of runs: in any order, for some run at once. */
const written = ({ steps }: Pick<ThreadOutcome, "steps">) =>
  steps
    .map(({ role, meta }) => {
      const values = (meta.variables ?? []) as { path: unknown; value: unknown }[];
      return JSON.stringify([role, meta.next, values.map(({ path, value }) => [path, value])]);
    })
    .toSorted((a, b) => a.localeCompare(b));

test("a fork, loops, a branch and a child workflow go the way that was recorded", async () => {
  const first = await runThread(marking, { prompt: "all", cwd: newFolder(), maxRounds: 1000 });
  expect(first.status).toBe("completed");
  const fixture = fixtureFrom(first, "all");
  const at = newFolder();
  const second = await answered(marking, fixture, { at });
  expect([second.status, written(second)]).toEqual(["completed", written(first)]);
  expect(readdirSync(at)).toEqual([]);
  // Resumed after any of its steps, it goes the same way.
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

/** The bundle's `run`, and the steps that were carried out. */
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

test("handlers, files, an error that was handled, a Pause and a step that is come to again", async () => {
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

test("a step that the fixture has no answer of is named", async () => {
  const { run, done } = working();
  const first = await runThread(run, { cwd: newFolder(), answers: ["yes"] });
  const fixture = fixtureFrom(first);
  const count = done.length;
  const steps = fixture.steps.filter(({ role }) => role !== "Work_Count");
  const second = await answered(run, { ...fixture, steps });
  expect(second).toMatchObject({
    status: "failed",
    message: expect.stringContaining("the fixture of T has no answer for run 1 of step Work_Count"),
  });
  expect(done).toHaveLength(count);
});
