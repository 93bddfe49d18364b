import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WAIT } from "@uncaged/workflow";
import { type Host, retryOptions, settled } from "@uncaged/workflow/host";
import { infoPath } from "../../workflow/src/disk/paths.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ledgerOf } from "../src/ledger/ledger.ts";
import { ModelRuns, type Run } from "./model-runs.ts";
import type { Reply, ReplyTool } from "./wire.ts";

/*
 * Tests a role with tool calls that need approval, while its process is killed or exits at each of the role's events.
 * No call runs without its approval, or twice. The model gets the same conversation as in an undisturbed run.
 */
setDefaultTimeout(180_000);
let models: ModelRuns;
let host: Host;
let servers: ModelRuns["servers"];

const call = (name: string, n: number, more = {}): ReplyTool => ({ name, input: { n, ...more } });
const usual = [
  [call("mark", 1), call("deploy", 2), call("deploy", 3)],
  [call("pay", 4), call("pay", 6)],
];
let turns = usual;
/** The turn whose request kills the worker, or 0. Reset after the kill. */
let killedAt = 0;

function reply(body: object): Reply {
  const { messages } = body as { messages: { role?: string }[] };
  const turn = messages.filter(({ role }) => role === "assistant").length;
  if (killedAt === turn + 1) {
    killedAt = 0;
    void models.kill();
    return { fault: { kind: "hang" } };
  }
  const tools = turns[turn];
  const thinking = `about turn ${turn}`;
  return tools ? { thinking, text: `Turn ${turn}. `, tools } : { text: "all done" };
}

beforeAll(async () => {
  models = await ModelRuns.open(reply);
  ({ host, servers } = models);
  await host.register("approve", join(import.meta.dir, "approve/approve.ts"));
}, 180_000);
afterAll(() => models.close());

async function start(prompt: string, { die = "", at = 0, calls = usual } = {}): Promise<Run> {
  turns = calls;
  killedAt = at;
  return await models.start("approve", prompt, die);
}

const marksIn = (run: Run): string[] => models.marksOf(run).sort();

const answer = ({ ref, env, cwd }: Run, value: unknown, meta = {}) =>
  host.control(ref, {
    kind: "answer",
    input: { content: JSON.stringify(value), value, meta },
    ...{ env, cwd },
  });

/** Waits until a thread asks or ends. Returns the metadata of its question, or its status. */
async function asked(run: Run) {
  const view = await settled(host, run.ref);
  return view.status === "waiting" ? view.question.meta : view.status;
}

/** Actions that remove the worker while the thread waits. */
const absences = {
  nothing: async () => undefined,
  killed: () => models.kill(),
  // Idle workers exit in this way.
  gone: () => signalWorkers(models.root, "SIGTERM"),
};
type Absence = keyof typeof absences;

/**
 * Resumes and answers a thread until it ends. `absence` removes the worker before each answer. Expects the final ledger
 * to equal the server's counts.
 */
async function answered(run: Run, absence: Absence, answers: (meta: object) => unknown) {
  const questions: Record<string, unknown>[] = [];
  for (;;) {
    const question = await asked(run);
    if (question === "interrupted") {
      await host.control(run.ref, { kind: "resume", env: run.env, cwd: run.cwd });
    } else if (typeof question === "string") break;
    else {
      questions.push(question);
      await absences[absence]();
      if (absence !== "nothing") {
        await until(
          async () => {
            const view = await host.read(run.ref);
            return view.status === "waiting" && view.pid === null;
          },
          () => "its worker did not exit",
        );
      }
      await answer(run, answers(question));
    }
  }
  await models.expectCounted(run.ref);
  return { view: await host.read(run.ref), questions };
}

const decisions = (meta: object): unknown => {
  const { n } = (meta as { input: { n: number } }).input;
  if (n === 3) return { approve: false, reason: "not on a Friday" };
  return n === 6 ? { approve: true, input: { n: 6, note: " little" } } : true;
};

/** The server's ids of tool calls contain the request number. */
const withOwnIds = (body: object): string =>
  JSON.stringify(body).replace(/"toolu_\d+_/g, '"toolu_');
const bodiesOf = (): string[] => [
  ...new Set(servers.claude.came.map(({ body }) => withOwnIds(body))),
];

let undisturbed: string[] | undefined;
async function conversationOf(): Promise<string[]> {
  if (undisturbed) return undisturbed;
  const run = await start("claude");
  const { view, questions } = await answered(run, "nothing", decisions);
  expect(view.status).toBe("completed");
  expect(questions.map(({ tool, input }) => [tool, input])).toEqual([
    ["deploy", { n: 2 }],
    ["deploy", { n: 3 }],
    ["pay", { n: 6 }],
  ]);
  expect(marksIn(run)).toEqual(["1", "2", "4", "6 little"]);
  const bodies = bodiesOf();
  expect(bodies.length).toBe(3);
  expect(bodies[1]).toContain("a person refused this call: not on a Friday");
  expect(bodies[2]).toContain("A person has changed the input of this call to");
  undisturbed = bodies;
  return bodies;
}

describe("a role that asks for approvals", () => {
  test.each(["killed", "gone"] as const)(
    "continues when the worker is %s while the thread waits",
    async (absence) => {
      const whole = await conversationOf();
      const run = await start("claude");
      const { view } = await answered(run, absence, decisions);
      expect(view.status).toBe("completed");
      expect(view.steps.map(({ role }) => role)).toEqual([
        ...[1, 2, 3].flatMap(() => [WAIT, "__input__"]),
        "claude",
      ]);
      expect(bodiesOf()).toEqual(whole);
      expect(servers.claude.came.length).toBe(3);
      expect(marksIn(run)).toEqual(["1", "2", "4", "6 little"]);
      const attempts = await host.attempts(run.ref);
      expect(
        attempts.filter(({ role: name }) => name === "claude").map(({ status }) => status),
      ).toEqual(["parked", "parked", "parked", "committed"]);
      expect(ledgerOf(attempts).lost.tokens).toBe(0);
    },
  );

  test.each([1, 2, 3])("continues after a kill at turn %d", async (at) => {
    const whole = await conversationOf();
    const run = await start("claude", { at });
    const { view } = await answered(run, "nothing", decisions);
    expect(view.status).toBe("completed");
    expect(bodiesOf()).toEqual(whole);
    expect(servers.claude.came.length).toBe(4);
    expect(marksIn(run)).toEqual(["1", "2", "4", "6 little"]);
  });

  test.each(["before 6", "after 6"])("continues after a kill %s", async (die) => {
    const run = await start("claude", { die });
    const { view, questions } = await answered(run, "nothing", decisions);
    expect([view.status, questions.length]).toEqual(["completed", 3]);
    // The call is repeated with the same key, without a second question.
    expect(marksIn(run).filter((one) => one !== "6 little")).toEqual(["1", "2", "4"]);
    expect(bodiesOf()).toEqual(await conversationOf());
  });
});

test("an approved call that is not idempotent is not repeated after it started", async () => {
  for (const [die, marks] of [
    ["before 2", ["4", "6 little"]],
    ["after 2", ["2", "4", "6 little"]],
  ] as const) {
    const run = await start("claude", { die });
    const { view } = await answered(run, "nothing", decisions);
    expect(view.status).toBe("completed");
    expect(bodiesOf().at(-1)).toContain("the outcome of deploy is unknown");
    expect(marksIn(run).filter((one) => one !== "1")).toEqual([...marks]);
  }
});

test("an input that a person edits must fit the schema and the tool's own check", async () => {
  const run = await start("claude", { calls: [[call("few", 2)]] });
  await asked(run);
  const { ref, env } = run;
  const forked = (n: unknown) => {
    const input = { content: "?", value: { approve: true, input: { n } } };
    return host.fork(ref, { keep: { atStep: 1 }, input, env });
  };
  expect(forked("two")).rejects.toMatchObject({ code: "ANSWER_INVALID" });
  const other = { ...run, ref: await forked(9) };
  expect(await asked(other)).toMatchObject({ input: { n: 2 } });
  const view = await host.read(other.ref);
  expect(view.status === "waiting" && view.question.content).toContain("does not fit: ");
  expect(view.status === "waiting" && view.question.content).toContain("too many");
  await answer(other, true);
  expect(await asked(other)).toBe("completed");
  await answer(run, false);
  expect(await asked(run)).toBe("completed");
  expect(marksIn(run)).toEqual(["2"]);
});

test("an approval applies in a retry and in a fork that keeps it, but not to another input", async () => {
  const run = await start("claude", { calls: [[call("deploy", 2)]] });
  await asked(run);
  await host.control(run.ref, { kind: "kill" });
  const { env } = run;
  const again = {
    ...run,
    ref: await host.fork(run.ref, retryOptions(await host.read(run.ref), { env })),
  };
  // The retry continues from the recorded turn, and asks the same question.
  expect(await asked(again)).toMatchObject({ input: { n: 2 } });
  await answer(again, true);
  expect(await asked(again)).toBe("completed");
  expect(servers.claude.came.length).toBe(2);
  expect(marksIn(run)).toEqual(["2"]);
  // The fork drops the role's step, so the model is called again, and it makes the same call.
  const kept = { ...run, ref: await host.fork(again.ref, { keep: { atStep: 2 }, env }) };
  expect(await asked(kept)).toBe("completed");
  expect(marksIn(run)).toEqual(["2", "2"]);
  turns = [[call("deploy", 9)]];
  const changed = { ...run, ref: await host.fork(again.ref, { keep: { atStep: 2 }, env }) };
  expect(await asked(changed)).toMatchObject({ input: { n: 9 } });
  await answer(changed, false);
  expect(await asked(changed)).toBe("completed");
  expect(marksIn(run)).toEqual(["2", "2"]);
});

test("an answer to an edited question does not apply to the call: the thread asks again", async () => {
  const run = await start("claude", { calls: [[call("deploy", 2)]] });
  const question = await asked(run);
  if (typeof question === "string") throw new Error(question);
  const { steps } = await host.read(run.ref);
  const edited = { ...steps[0], meta: { ...question, input: { n: 1 } } };
  const { env, ref } = run;
  const fork = { ...run, ref: await host.fork(ref, { keep: { atStep: 1 }, edit: edited, env }) };
  await answer(fork, true);
  expect(await asked(fork)).toMatchObject({ input: { n: 2 } });
  await answer(fork, false);
  expect(await asked(fork)).toBe("completed");
  expect(marksIn(run)).toEqual([]);
});

test("a call without a decision is refused at its timeout, or runs if the tool's policy allows that", async () => {
  const run = await start("claude", { calls: [[call("late", 1), call("lenient", 2)]] });
  await until(
    async () => (await settled(host, run.ref)).status === "completed",
    () => "the thread still waits",
  );
  expect(marksIn(run)).toEqual(["2"]);
  expect(bodiesOf().at(-1)).toContain("late was not run: no decision in time");
});

test("a call whose input contains a secret of the environment is refused, and not shown to a person", async () => {
  const { key } = servers.claude;
  const run = await start("claude", { calls: [[call("deploy", 2, { note: key })]] });
  expect(await asked(run)).toBe("completed");
  expect(marksIn(run)).toEqual([]);
  expect(bodiesOf().at(-1)).toContain("its input contains a secret of the environment");
  const { hash, threadId } = run.ref;
  expect(readFileSync(infoPath(models.root, hash, threadId), "utf8")).not.toContain(key);
  expect(JSON.stringify(await host.read(run.ref))).not.toContain(key);
});

test('a role with durable: "role" repeats its turn after an approval, which applies to the same input', async () => {
  const run = await start("whole", { calls: [[call("deploy", 2)]] });
  const { view, questions } = await answered(run, "gone", decisions);
  expect([view.status, questions.length]).toEqual(["completed", 1]);
  expect(marksIn(run)).toEqual(["2"]);
  expect(servers.claude.came.length).toBe(3);
});

test("members of a group ask in turn", async () => {
  const run = await start("group", { calls: [[call("deploy", 2)]] });
  const { view, questions } = await answered(run, "killed", () => true);
  expect([view.status, questions.length]).toEqual(["completed", 3]);
  expect(marksIn(run)).toEqual(["2", "2", "2"]);
  expect(servers.claude.came.length).toBe(6);
  expect(new Set(questions.map(({ token }) => token)).size).toBe(3);
});
