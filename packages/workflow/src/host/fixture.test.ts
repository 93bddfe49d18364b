import { describe, expect, test } from "bun:test";
import type { RoleOutput, Step, WorkflowFn } from "../contract/contract.ts";
import { checkFixture, type Fixture, fixtureFormat } from "../contract/fixture.ts";
import { durable } from "../durable/durable.ts";
import { beginGenerator } from "../engine/generator.ts";
import { waitFor } from "../moderator/history.ts";
import { createRoleModerator } from "../moderator/moderator.ts";
import { runThread, type RunThreadOptions } from "../testing/run-thread.ts";
import type { ThreadView } from "../record/thread.ts";
import published from "../../schema/fixture.schema.json";
import { fixtureOf, fixtureSchema, recordedInput } from "./fixture.ts";

const threadId = "01KQXKW18CT8G75T53R8F4G7YG";
let executed = 0;

const recorded = (steps: readonly RoleOutput[], prompt = "go"): Fixture => {
  const view = { status: "completed", workflow: "w", hash: "H", threadId, prompt, steps };
  return JSON.parse(JSON.stringify(fixtureOf(view as unknown as ThreadView))) as Fixture;
};

/** Runs a workflow live and then from the fixture of that thread. Returns both outcomes without times. */
async function both(run: WorkflowFn, options: RunThreadOptions = {}, other = run) {
  const first = await runThread(run, options);
  executed = 0;
  const fixture = recorded(first.steps);
  const log: Step[] = [];
  const answers = (wait: Step) => {
    log.push(wait);
    const given = recordedInput(fixture, log);
    if (!given) return undefined;
    const { content, meta, value } = given;
    return { content, meta: { ...meta, ...(value !== undefined && { value }) } };
  };
  const second = await runThread(other, { ...options, answers, options: { fixture } });
  const bare = ({ steps }: { steps: Step[] }) =>
    steps.map(({ role, content, meta }) => ({ role, content, meta: { ...meta, requestId: 0 } }));
  return { first, second, steps: [bare(first), bare(second)], executed };
}

const work = async (content: string, meta = {}) => {
  executed += 1;
  return { content, meta };
};

const team = createRoleModerator({
  roles: {
    planner: () => work("a plan", { usage: { input_tokens: 5 }, cost: 1, models: {}, model: "m" }),
    coder: (ctx) => work(`code ${ctx.steps.length}`, { n: ctx.steps.length }),
    approval: async () => waitFor("approval", { content: "Ship it?" }),
  },
  moderator({ steps }) {
    const last = steps.at(-1);
    if (!last) return "planner";
    if (last.role === "approval") return last.meta.value === "yes" ? "__end__" : "coder";
    return last.role === "coder" && steps.length > 2 ? "approval" : "coder";
  },
});

describe("a fixture answers", () => {
  test("the roles of a moderator in their order, and the questions that they asked", async () => {
    const ran = await both(team, { answers: ["no", "yes"] });
    expect(ran.first.status).toBe("completed");
    expect(ran.second.status).toBe("completed");
    expect(ran.executed).toBe(0);
    const [before, after] = ran.steps;
    expect(after?.map(({ role, content }) => [role, content])).toEqual(
      before?.map(({ role, content }) => [role, content]) ?? [],
    );
    expect(after?.length).toBe(8);
  });

  test("without the cost of the recorded thread", async () => {
    const { second } = await both(team, { answers: ["yes"] });
    expect(second.steps[0]?.meta).toEqual({ model: "m" });
  });

  test("a thread resumed after any step, like an uninterrupted thread", async () => {
    const { steps } = await runThread(team, { answers: ["no", "yes"] });
    const fixture = recorded(steps);
    executed = 0;
    for (let kept = 0; kept <= steps.length; kept += 1) {
      const answers = ["no", "yes"].slice(
        steps.slice(0, kept).filter((s) => s.role === "__input__").length,
      );
      const again = await runThread(team, {
        steps: steps.slice(0, kept),
        answers,
        options: { fixture },
      });
      expect(again.steps.map(({ content }) => content)).toEqual(
        steps.map(({ content }) => content),
      );
    }
    expect(executed).toBe(0);
  });

  test("durable code: concurrent steps of one name, all kinds of values, caught failures, sleeps", async () => {
    let tries = 0;
    const run = durable(async function* (step) {
      const parts = ["a", "b", "c"];
      const first = yield* step.all(
        parts.map((part, at) =>
          step("part", async () => {
            executed += 1;
            // The last step ends first: the order in the log differs from the order in the code.
            for (let turn = at; turn < 3; turn += 1) await new Promise((go) => setImmediate(go));
            return { part };
          }),
        ),
      );
      const second = yield* step.all(
        parts.map((part) => step("part", () => work(`again ${part}`, { part }))),
      );
      yield* step.sleep("30d");
      let caught = "";
      try {
        yield* step("bad", () => {
          executed += 1;
          throw Object.assign(new Error("no luck"), { code: "E_LUCK" });
        });
      } catch (error) {
        caught = String((error as { code?: string }).code);
      }
      const tried = yield* step(
        "flaky",
        () => {
          executed += 1;
          if ((tries += 1) % 2 === 1) throw new Error("once more");
          return tries;
        },
        { retry: { attempts: 3, backoff: 1 } },
      );
      const { value } = yield* step.wait<string>("name");
      const nothing = yield* step("nothing", () => undefined);
      return JSON.stringify([first, second, caught, tried, value, nothing ?? "none"]);
    });
    const { first, second, executed: times } = await both(run, { answers: ["Ada"] });
    expect(first.status).toBe("completed");
    const summary = (one: typeof first) => one.status === "completed" && one.result.summary;
    expect(summary(second)).toBe(summary(first));
    expect(times).toBe(0);
  });

  test("a role that asked during its work, without asking again", async () => {
    const run = createRoleModerator({
      roles: {
        async coder({ questions, key = "" }) {
          executed += 1;
          const asked = await questions?.ask(key, "tool", { content: "may I?" });
          return { content: `asked ${String(asked?.answer.value)}`, meta: {} };
        },
      },
      moderator: ({ steps }) => (steps.length < 2 ? "coder" : "__end__"),
    });
    const { first, second, executed: times } = await both(run, { answers: ["yes", "no"] });
    const contents = ({ steps }: typeof first) =>
      steps.filter(({ role }) => role === "coder").map(({ content }) => content);
    expect(contents(first)).toEqual(["asked yes", "asked no"]);
    expect(contents(second)).toEqual(["asked yes", "asked no"]);
    expect([second.steps.length, times]).toEqual([2, 0]);
  });

  test("another version of the workflow up to its first difference", async () => {
    const plain = createRoleModerator({
      roles: { planner: () => work("new"), coder: () => work("new") },
      moderator: ({ steps }) => (["planner", "coder"] as const)[steps.length] ?? "__end__",
    });
    const { second } = await both(team, { answers: ["yes"] }, plain);
    expect(second.steps.map(({ content }) => content)).toEqual(["a plan", "code 1"]);
  });
});

test("a question of a running step gets the answer of its id", async () => {
  const run = durable(async function* (step) {
    const asks = (name: string) =>
      step(name, async ({ questions }) => (await questions.ask(name, "colour", {})).answer.content);
    yield* asks("a");
    yield* asks("b");
    return "";
  });
  const { steps } = await runThread(run, { answers: ["red", "blue"] });
  const fixture = recorded(steps);
  expect(steps.map(({ role }) => role)).toEqual(
    ["a", "b"].flatMap((name) => ["__wait__", "__input__", name]),
  );
  // A fork that answers the first role has only the second question.
  const logs = [steps.slice(0, 1), steps.slice(0, 4), steps.slice(2, 4)];
  expect(logs.map((log) => recordedInput(fixture, log)?.content)).toEqual(["red", "blue", "blue"]);
  const other = { ...steps[0], meta: { ...steps[0]?.meta, stepQuestion: "c" } } as Step;
  expect(recordedInput(fixture, [other])).toBeNull();
});

test("a question of a child workflow gets the answer from another thread", () => {
  const asked = (thread: string, stepID = "Sub_1/Pause_2"): Step => {
    const path = [
      { in: "Sub_1", run: `${thread}-7` },
      { in: "__entry__", child: "Pause_2" },
    ];
    return { role: "__wait__", content: "?", meta: { for: "pause", stepID, path }, timestamp: 1 };
  };
  const answer = { role: "__input__", content: "yes", meta: { for: "pause" } };
  const fixture = recorded([asked(threadId), answer]);
  expect(recordedInput(fixture, [asked("0".repeat(26))])?.content).toBe("yes");
  expect(recordedInput(fixture, [asked(threadId, "Sub_1/Pause_3")])).toBeNull();
});

describe("an unrecorded answer", () => {
  test("is reported with its role, and the role is not executed", async () => {
    const run = createRoleModerator({
      roles: { planner: () => work(""), critic: () => work("") },
      moderator: ({ steps }) => (steps.length === 0 ? "planner" : "critic"),
    });
    const { second, executed: times } = await both(team, { answers: ["yes"] }, run);
    expect(second).toMatchObject({
      status: "failed",
      message: expect.stringContaining(`no answer for execution 1 of role "critic"`),
      error: { code: "NO_RECORDED_ANSWER" },
    });
    expect(times).toBe(0);
  });

  test("ends durable code that catches all errors", async () => {
    const before = durable(async function* (step) {
      return yield* step("a", () => "a");
    });
    const after = durable(async function* (step) {
      try {
        return yield* step("b", () => "b");
      } catch {
        return "done without b";
      }
    });
    const { second } = await both(before, {}, after);
    expect(second).toMatchObject({ status: "failed", error: { code: "NO_RECORDED_ANSWER" } });
  });

  test("leaves a question open: the thread waits", async () => {
    const fixture = recorded([{ role: "planner", content: "p", meta: {} }]);
    const asked = { role: "__wait__", content: "?", meta: { for: "approval" }, timestamp: 1 };
    expect(recordedInput(fixture, [asked])).toBeNull();
  });
});

test("a version without support for fixtures is not started with a fixture", () => {
  const fixture = recorded([]);
  const run: WorkflowFn = async function* () {
    yield* [];
    return { returnCode: 0, summary: "" };
  };
  const options = { threadId, maxRounds: 1, fixture };
  const begin = () => beginGenerator(run, { prompt: "", steps: [] }, options);
  expect(begin).toThrow("does not support fixtures");
  // A text in the option `fixture` is the workflow's own option, not a fixture.
  expect(() =>
    beginGenerator(run, { prompt: "", steps: [] }, { ...options, fixture: "mine" }),
  ).not.toThrow();
});

test.each([
  [null, "format"],
  [{}, "format"],
  [{ format: fixtureFormat, version: 2 }, "its version is 2"],
  [{ ...recorded([]), hash: 1 }, "its hash is not a text"],
  [{ ...recorded([]), steps: {} }, "its steps are not a list"],
  [
    { ...recorded([]), steps: [{ role: "a", content: "", meta: {} }, { role: "" }] },
    "step 2 is not",
  ],
])("%j is not a fixture", (value, why) => {
  expect(() => checkFixture(value)).toThrow(why);
});

test("a corrupt thread is not exported", () => {
  const view = { status: "corrupt", steps: [] } as unknown as ThreadView;
  expect(() => fixtureOf(view)).toThrow("is corrupt");
});

test("exported fixtures match the published schema", async () => {
  expect(published).toEqual(JSON.parse(JSON.stringify(fixtureSchema)));
});
