import { describe, expect, test } from "bun:test";
import { decodeTime } from "ulid";
import {
  END,
  INPUT,
  type RoleOutput,
  type ThreadInput,
  WAIT,
  type WorkflowFn,
  type WorkflowResult,
} from "../contract/contract.ts";
import { isWorkflowError } from "../contract/error.ts";
import type { Moderator, Role, RoleMeta, ThreadContext } from "./context.ts";
import { createRoleModerator } from "./moderator.ts";
import { type WaitResult, waitFor } from "./history.ts";

type Meta = { planner: { files: string[] }; coder: { diff: string } };
type Ran = { outputs: RoleOutput[]; result: WorkflowResult };

const threadId = "01KQXKW18CT8G75T53R8F4G7YG";
const plan = { role: "planner", content: "Plan it", meta: { files: ["a.ts"] } };
const planner: Role<Meta["planner"]> = async () => ({ content: plan.content, meta: plan.meta });
const coder: Role<Meta["coder"]> = async () => ({ content: "Code it", meta: { diff: "+1" } });
const inTurn: Moderator<Meta> = (ctx) => {
  const last = ctx.steps.at(-1);
  if (last === undefined) return "planner";
  return last.role === "planner" ? "coder" : END;
};

async function drive(
  run: WorkflowFn,
  { steps = [], maxRounds = 10, answers = [] }: Partial<Options> = {},
): Promise<Ran> {
  const thread = run(
    { prompt: "fix it", steps, params: { n: 1 } },
    { threadId, maxRounds, cwd: "/", maxCost: 2, forkFrom: { threadId: "A", steps: 1 } },
  );
  const outputs: RoleOutput[] = [];
  let sent: RoleOutput | undefined;
  for (;;) {
    const next = await thread.next(sent);
    if (next.done) return { outputs, result: next.value };
    outputs.push(next.value);
    sent = next.value.role === WAIT ? answers.shift() : undefined;
    if (sent !== undefined) outputs.push(sent);
  }
}
type Options = { steps: ThreadInput["steps"]; maxRounds: number; answers: RoleOutput[] };

async function failure(ran: Promise<unknown>): Promise<string> {
  const error: unknown = await ran.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return isWorkflowError(error) ? `${error.code}: ${error.message}` : String(error);
}

describe("a workflow of roles", () => {
  const run = createRoleModerator({ roles: { planner, coder }, moderator: inTurn });

  test("is recognizable as an async generator function", () => {
    expect(Object.prototype.toString.call(run)).toBe("[object AsyncGeneratorFunction]");
  });

  test("runs role after role until the moderator ends it", async () => {
    const { outputs, result } = await drive(run);
    expect(outputs).toEqual([plan, { role: "coder", content: "Code it", meta: { diff: "+1" } }]);
    expect(result).toEqual({ returnCode: 0, summary: "Code it" });
  });

  test("continues after the recorded steps", async () => {
    expect((await drive(run, { steps: [plan] })).outputs.map((step) => step.role)).toEqual([
      "coder",
    ]);
    const whole = [plan, { role: "coder", content: "Old code", meta: { diff: "" } }];
    expect(await drive(run, { steps: whole })).toEqual({
      outputs: [],
      result: { returnCode: 0, summary: "Old code" },
    });
  });

  test("runs roles named like inherited properties, and refuses missing roles", async () => {
    const names = ["constructor", "toString", "hasOwnProperty", "__proto__"];
    const role = async () => ({ content: "done", meta: {} });
    const roles = Object.fromEntries(names.map((name) => [name, role]));
    const moderator: Moderator<RoleMeta> = ({ steps }) => names[steps.length] ?? END;
    const { outputs } = await drive(createRoleModerator({ roles, moderator }));
    expect(outputs.map((output) => output.role)).toEqual(names);
    for (const name of names) {
      const missing = createRoleModerator<RoleMeta>({ roles: { planner }, moderator: () => name });
      expect(await failure(drive(missing))).toContain(name);
    }
  });

  test("ends at maxRounds, which counts recorded steps too", async () => {
    const endless = createRoleModerator<Meta>({
      roles: { planner, coder },
      moderator: () => "coder",
    });
    expect((await drive(endless, { maxRounds: 3 })).outputs).toHaveLength(3);
    expect((await drive(endless, { maxRounds: 3, steps: [plan, plan] })).outputs).toHaveLength(1);
    expect((await drive(endless, { maxRounds: 1, steps: [plan, plan] })).outputs).toHaveLength(0);
  });

  test("uses the summary function of its definition; without steps the default summary is a fixed text", async () => {
    const idle = { roles: { planner, coder }, moderator: () => END };
    expect((await drive(createRoleModerator<Meta>(idle))).result.summary).toBe("nothing to do");
    const counting = createRoleModerator<Meta>({
      roles: { planner, coder },
      moderator: inTurn,
      summary: (ctx) => `${ctx.steps.length} steps`,
    });
    expect((await drive(counting)).result.summary).toBe("2 steps");
  });

  test("shortens a long last step to one line in its summary", async () => {
    const wordy: Role<RoleMeta[string]> = async () => ({ content: "a\nb".repeat(9999), meta: {} });
    const talk = createRoleModerator({
      roles: { wordy },
      moderator: (ctx) => (ctx.steps.length > 0 ? END : "wordy"),
    });
    const { summary } = (await drive(talk)).result;
    expect(summary).toStartWith("a ba b");
    expect(summary).toHaveLength(200);
  });
});

describe("the context", () => {
  async function contexts(steps: ThreadInput["steps"]): Promise<ThreadContext[]> {
    const seen: ThreadContext[] = [];
    const watcher: Role<RoleMeta[string]> = async (ctx) => {
      seen.push({ ...ctx, steps: [...ctx.steps], allSteps: [...(ctx.allSteps ?? [])] });
      return { content: "seen", meta: {} };
    };
    const run = createRoleModerator(
      {
        roles: { watcher },
        moderator: (ctx) => (ctx.steps.at(-1)?.role === "watcher" ? END : "watcher"),
      },
      { now: () => 77 },
    );
    await drive(run, { steps });
    return seen;
  }

  test("has the prompt, the thread id and the options of `run`", async () => {
    const [ctx] = await contexts([]);
    expect(ctx).toMatchObject({ threadId, cwd: "/", params: { n: 1 }, steps: [], role: "watcher" });
    expect(ctx?.options).toEqual({ maxCost: 2, forkFrom: { threadId: "A", steps: 1 } });
    expect(ctx?.start).toEqual({
      role: "__start__",
      content: "fix it",
      meta: { maxRounds: 10, threadId },
      timestamp: decodeTime(threadId),
    });
  });

  test("keeps recorded times, and uses the clock for new times", async () => {
    const [ctx] = await contexts([{ ...plan, timestamp: 5 }, plan]);
    expect(ctx?.steps.map((step) => step.timestamp)).toEqual([5, 77]);
  });

  test("does not show questions and answers that belong to no role", async () => {
    const asked = { role: WAIT, content: "?", meta: { for: "x" } };
    const given = { role: INPUT, content: "42", meta: {} };
    const [ctx] = await contexts([plan, asked, given]);
    expect(ctx?.steps.map((step) => step.role)).toEqual(["planner"]);
    expect(ctx?.allSteps?.map((step) => step.role)).toEqual(["planner", WAIT, INPUT]);
  });
});

describe("a role that asks", () => {
  const approval: Role<WaitResult<{ approved: boolean }>> = async (ctx) =>
    waitFor("sign-off", { content: `Do: ${ctx.steps[0]?.content}`, schema: true, token: "t" });
  const run = createRoleModerator({
    roles: { planner, approval, coder },
    moderator(ctx) {
      const last = ctx.steps.at(-1);
      if (last === undefined) return "planner";
      if (last.role === "planner") return "approval";
      return last.role === "approval" && last.meta.value.approved ? "coder" : END;
    },
  });
  const question = {
    role: WAIT,
    content: "Do: Plan it",
    meta: { schema: true, token: "t", for: "sign-off", role: "approval" },
  };
  const answer = (approved: boolean): RoleOutput => ({
    role: INPUT,
    content: JSON.stringify({ approved }),
    meta: { for: "sign-off", value: { approved } },
  });

  test("waits, and its answer becomes its step", async () => {
    const { outputs } = await drive(run, { answers: [answer(true)] });
    expect(outputs.map((step) => step.role)).toEqual(["planner", WAIT, INPUT, "coder"]);
    expect(outputs[1]).toEqual(question);
    const refused = await drive(run, { answers: [answer(false)] });
    expect(refused.outputs.map((step) => step.role)).toEqual(["planner", WAIT, INPUT]);
    expect(refused.result.summary).toBe('{"approved":false}');
  });

  test("has its answer after a restart", async () => {
    const { outputs } = await drive(run, { steps: [plan, question, answer(true)] });
    expect(outputs.map((step) => step.role)).toEqual(["coder"]);
  });

  test("refuses an answer that does not follow a question", async () => {
    for (const steps of [
      [plan, answer(true)],
      [plan, question, answer(true), answer(false)],
      [plan, question, plan, answer(true)],
    ]) {
      const number = steps.length;
      expect(drive(run, { steps })).rejects.toMatchObject({
        code: "DIVERGED",
        message: `step ${number} of the log is "__input__" without a question`,
      });
    }
  });

  test("asks again when the log ends with its question, and replays such a log", async () => {
    const { outputs } = await drive(run, { steps: [plan, question], answers: [answer(true)] });
    expect(outputs.map((step) => step.role)).toEqual([WAIT, INPUT, "coder"]);
    const again = await drive(run, { steps: [plan, question, ...outputs.slice(0, 2)] });
    expect(again.outputs.map((step) => step.role)).toEqual(["coder"]);
  });

  test("has the text as value when the answer is not JSON", async () => {
    const text = { role: INPUT, content: "yes", meta: {} };
    const asker: Role<WaitResult<string>> = async () => waitFor("word");
    const talk = createRoleModerator({
      roles: { asker },
      moderator: (ctx) => (ctx.steps.length === 0 ? "asker" : END),
      summary: (ctx) => `${ctx.steps[0]?.meta.value}!`,
    });
    expect((await drive(talk, { answers: [text] })).result.summary).toBe("yes!");
  });

  test("fails when it is resumed without an answer", async () => {
    expect(await failure(drive(run))).toBe(
      'NO_ANSWER: the workflow waits for "sign-off" and was resumed without an answer',
    );
  });
});

describe("failures at run time", () => {
  const returning = (value: unknown): WorkflowFn =>
    createRoleModerator({
      roles: { coder: (async () => value) as unknown as Role<RoleMeta[string]> },
      moderator: (ctx) => (ctx.steps.length === 0 ? "coder" : END),
    });
  const routing = (value: unknown): WorkflowFn =>
    createRoleModerator<Meta>({ roles: { planner, coder }, moderator: () => value as "coder" });

  test("a missing role is reported with the existing roles", async () => {
    expect(await failure(drive(routing("reviewer")))).toBe(
      'UNKNOWN_ROLE: the moderator returned "reviewer", not one of its roles: "planner", "coder"',
    );
    expect(await failure(drive(routing("constructor")))).toContain('returned "constructor"');
    expect(await failure(drive(routing(undefined)))).toContain("returned undefined");
    expect(await failure(drive(routing(Promise.resolve(END))))).toContain("an instance of Promise");
  });

  test("a role with an invalid result is named in the error", async () => {
    expect(await failure(drive(returning("text")))).toBe(
      'BAD_ROLE_RESULT: role "coder" returned a string, not {content: a string, meta: an object}',
    );
    expect(await failure(drive(returning(undefined)))).toContain("returned undefined");
    expect(await failure(drive(returning({ content: 1, meta: {} })))).toContain(
      "returned {content: a number, meta: an object}, not",
    );
    expect(await failure(drive(returning({ content: "" })))).toContain("meta: undefined}");
    expect(await failure(drive(returning({ content: "", meta: null })))).toContain("meta: null}");
  });

  test("a role that changes the steps is reported", async () => {
    const run = createRoleModerator<Meta>({
      roles: {
        planner,
        coder: async (ctx) => {
          ctx.steps.pop();
          return { content: "", meta: { diff: "" } };
        },
      },
      moderator: inTurn,
    });
    expect(await failure(drive(run))).toContain(
      'CONTEXT_CHANGED: ctx.steps was changed before role "coder"',
    );
  });

  test("an error thrown by a role is passed on unchanged", async () => {
    const error = new Error("no model");
    const run = createRoleModerator<Meta>({
      roles: { planner: () => Promise.reject(error), coder },
      moderator: inTurn,
    });
    expect(await drive(run).catch((thrown: unknown) => thrown)).toBe(error);
  });
});
