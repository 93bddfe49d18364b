import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Host, retryOptions, settled } from "@uncaged/workflow/host";
import { some } from "../../workflow/test/fixtures/cases.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { AiSdkRuns, call, type Way } from "./ai-sdk-runs.ts";
import type { Model, Run } from "./model-runs.ts";
import type { Fault } from "./wire.ts";

/*
 * Tests a program of the AI SDK whose process is killed at each of its events. Recorded turns and calls are not
 * repeated, and the model gets the conversation of an undisturbed run.
 */
setDefaultTimeout(180_000);
let runs: AiSdkRuns;
let host: Host;

const marking = [
  [call("mark", 1), call("mark", 2)],
  [call("watch", 3)],
  [call("mark", 4), call("fail", 5), call("watch", 6)],
];
const numbers = [1, 2, 3, 4, 5, 6];
const last = marking.length + 1;

beforeAll(async () => {
  runs = await AiSdkRuns.open();
  ({ host } = runs.models);
}, 180_000);
afterAll(() => runs.models.close());

const programs = (["claude", "gpt", "responses"] as const).flatMap((model) =>
  (["generate", "stream", "agent", "agent-stream"] as const).map((way) => ({ model, way })),
);

const known = new Map<string, Map<number, string[]>>();
async function conversationOf(model: Model, way: Way): Promise<Map<number, string[]>> {
  const name = `${model} ${way}`;
  const whole = known.get(name);
  if (whole) return whole;
  runs.turns = marking;
  const run = await runs.start(model, way);
  const { view } = await runs.finished(run);
  expect(view.status).toBe("completed");
  expect(runs.marksOf(run)).toEqual(numbers);
  const bodies = runs.bodiesOf(model);
  expect([...bodies.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1]);
  known.set(name, bodies);
  return bodies;
}

describe.each(programs)("a program of $model that calls $way continues after a kill", (program) => {
  const { model, way } = program;
  const turns = Array.from({ length: last }, (_, at) => at + 1);
  const kinds = way.endsWith("stream") ? (["asked", "answering"] as const) : (["asked"] as const);
  const moments = turns.flatMap((turn) => kinds.map((kind) => ({ turn, kind })));
  test.each(some(moments, 4, 1))("in turn $turn, in the state '$kind'", async (at) => {
    const whole = await conversationOf(model, way);
    const run = await runs.start(model, way, at);
    const { view, resumes } = await runs.finished(run);
    expect([view.status, resumes]).toEqual(["completed", 1]);
    runs.expectSame(model, whole, [at.turn]);
    expect(runs.marksOf(run)).toEqual(numbers);
  });

  test.each(some(numbers, 3, 1))("in tool call %d, before and after its effect", async (n) => {
    const whole = await conversationOf(model, way);
    for (const moment of ["before", "after"]) {
      const run = await runs.start(model, way, `${moment} ${n}`);
      const { view, resumes } = await runs.finished(run);
      expect([view.status, resumes]).toEqual(["completed", 1]);
      runs.expectSame(model, whole, []);
      // Calls of one turn run concurrently. The unrecorded calls are repeated with the same ids.
      const turn = marking.map((calls) => calls.map(({ input }) => (input as { n: number }).n));
      const own = turn.find((each) => each.includes(n)) ?? [];
      const others = numbers.filter((each) => !own.includes(each));
      const marks = runs.marksOf(run);
      expect(marks.filter((each) => !own.includes(each))).toEqual(others);
      expect([...new Set(marks)]).toEqual(numbers);
      expect(new Set(runs.models.marksOf(run)).size).toBe(numbers.length);
    }
  });

  test("after the last answer and before the commit of its step", async () => {
    const whole = await conversationOf(model, way);
    const run = await runs.start(model, way, "end");
    expect((await runs.finished(run)).view.status).toBe("completed");
    runs.expectSame(model, whole, []);
    expect(runs.marksOf(run)).toEqual(numbers);
    const attempts = await host.attempts(run.ref);
    expect(attempts.map(({ status }) => status)).toEqual(["lost", "committed"]);
  });
});

test.each(["asked", "end"] as const)(
  "two concurrent calls of one program continue after a kill in the state '%s'",
  async (kind) => {
    runs.turns = marking;
    const run = await runs.start("claude", "parallel", kind === "end" ? kind : { turn: 3, kind });
    // The worker may be killed before it reads an answer that the server sent completely.
    const { view, resumes } = await runs.finished(run, { isCounted: kind === "end" });
    expect([view.status, resumes, view.steps[0]?.content]).toEqual([
      "completed",
      1,
      "all done all done",
    ]);
    const counts = [...runs.bodiesOf("claude").values()].map(({ length }) => length);
    const sum = counts.reduce((one, other) => one + other, 0);
    // Each call repeats at most the one request that the kill interrupted.
    if (kind === "end") expect(counts).toEqual([2, 2, 2, 2]);
    else expect([9, 10]).toContain(sum);
    // All tool calls have different ids.
    expect(new Set(runs.models.marksOf(run)).size).toBe(2 * numbers.length);
  },
);

describe("a tool that needs an approval", () => {
  const turns = [[call("mark", 1), call("deploy", 2), call("deploy", 3)], [call("mark", 4)]];
  const absences = {
    killed: () => runs.models.kill(),
    gone: () => signalWorkers(runs.models.root, "SIGTERM"),
    there: async () => undefined,
  };
  test.each(Object.keys(absences) as (keyof typeof absences)[])(
    "runs once when the worker is %s while the thread waits",
    async (absence) => {
      runs.turns = turns;
      const run = await runs.start("claude", "stream");
      const { view, questions } = await runs.finished(run, { before: absences[absence] });
      expect(view.status).toBe("completed");
      expect(questions.map(({ input }) => input)).toEqual([{ n: 2 }, { n: 3 }]);
      expect(runs.marksOf(run)).toEqual([1, 2, 3, 4]);
      expect([...runs.bodiesOf("claude").values()].map(({ length }) => length)).toEqual([1, 1, 1]);
    },
  );

  test.each(["before 3", "after 3", "after 2", "end"])("continues after a kill %s", async (die) => {
    runs.turns = turns;
    const run = await runs.start("claude", "generate", die);
    const { view, questions } = await runs.finished(run);
    expect([view.status, questions.length]).toEqual(["completed", 2]);
    expect([...new Set(runs.marksOf(run))]).toEqual([1, 2, 3, 4]);
    expect([...runs.bodiesOf("claude").values()].map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  test("does not run when a person refuses it", async () => {
    runs.turns = turns;
    const run = await runs.start("claude", "generate");
    const answer = { approve: false, reason: "not on a Friday" };
    const { view } = await runs.finished(run, { answer });
    expect(view.status).toBe("completed");
    expect(runs.marksOf(run)).toEqual([1, 4]);
    const said = runs.bodiesOf("claude").get(2)?.join("");
    expect(said).toContain("deploy was not run: a person refused this call: not on a Friday");
  });
});

test("the model learns that the outcome of a call that must not run twice is unknown", async () => {
  for (const moment of ["before", "after"]) {
    runs.turns = [[call("pay", 1)], [call("mark", 2)]];
    const run = await runs.start("claude", "generate", `${moment} 1`);
    expect((await runs.finished(run)).view.status).toBe("completed");
    expect(runs.bodiesOf("claude").get(2)?.join("")).toContain("the outcome of pay is unknown");
    expect(runs.marksOf(run)).toEqual(moment === "after" ? [1, 2] : [2]);
  }
});

const overloaded = { status: 529, type: "overloaded_error", message: "Overloaded" } as const;

describe("the retries of the SDK", () => {
  test.each(["generate", "stream"] as const)(
    "of a %s call repeat only the refused request",
    async (way) => {
      const whole = await conversationOf("claude", way);
      runs.turns = marking;
      const fault: Fault = { kind: "status", ...overloaded };
      const run = await runs.start("claude", way, { turn: 2, fault });
      const { view } = await runs.finished(run);
      expect(view.status).toBe("completed");
      runs.expectSame("claude", whole, [2]);
      expect(runs.marksOf(run)).toEqual(numbers);
    },
  );
});

async function retried({ ref, env }: Run) {
  const fork = await host.fork(ref, retryOptions(await host.read(ref), { env }));
  return await settled(host, fork);
}

test.each([
  ["an overload in mid-stream", { kind: "error-event", after: 3, ...overloaded }],
  ["a lost connection", { kind: "half-event", after: 3 }],
  ["a refused request", { kind: "status", ...overloaded, status: 400 }],
] as [string, Fault][])(
  "a retry of a thread that failed from %s repeats only the failed turn",
  async (_name, fault) => {
    const whole = await conversationOf("claude", "stream");
    const run = await runs.start("claude", "stream once", { turn: 3, fault });
    expect((await settled(host, run.ref)).status).toBe("failed");
    expect((await retried(run)).status).toBe("completed");
    runs.expectSame("claude", whole, [3]);
    expect(runs.marksOf(run)).toEqual(numbers);
  },
);
