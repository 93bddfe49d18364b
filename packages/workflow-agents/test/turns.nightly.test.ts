import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Host, retryOptions, settled } from "@uncaged/workflow/host";
import { journalPath } from "../../workflow/src/disk/paths.ts";
import { type Model, ModelRuns, type Run } from "./model-runs.ts";
import type { Fault, Reply } from "./wire.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/*
 * Tests a role with five turns and eight tool calls whose process is killed at each of its events. Recorded turns and
 * calls are not repeated, and the model gets the conversation of an undisturbed run.
 */
let models: ModelRuns;
let host: Host;
let servers: ModelRuns["servers"];

const calls = [[1, 2], [3], [4, 5, 6], [7, 8]];
const last = calls.length + 1;
const toolName = { current: "mark" };

/** A kill, fault or invalid answer at a turn. Occurs once. */
type Event =
  | { turn: number; kind: "asked" | "answering" }
  | { turn: number; fault: Fault }
  | { turn: number; text: string };
let event: Event | null = null;

type Body = { messages?: { role?: string }[]; input?: { role?: string }[] };

/**
 * Returns the number of the requested turn, from the number of assistant messages. In the Responses API, each turn has
 * one message among its items.
 */
const turnOf = ({ messages, input = [] }: Body): number =>
  (messages ?? input).filter(({ role }) => role === "assistant").length + 1;

function reply(body: Body): Reply {
  const turn = turnOf(body);
  const now = event?.turn === turn ? event : null;
  if (now) event = null;
  if (now && "kind" in now) {
    if (now.kind === "answering") {
      const held = models.killInAnswer();
      return {
        text: "I begin to mark what there is",
        held,
        fault: { kind: "half-event", after: 5 },
      };
    }
    void models.kill();
    return { fault: { kind: "hang" } };
  }
  const fault = now && "fault" in now ? now.fault : undefined;
  const isAskedAgain = JSON.stringify(body).includes("does not fit the JSON Schema");
  if (isAskedAgain || (now && "text" in now)) return { text: "no fields" };
  if (turn === last) return { thinking: "enough", text: '{"done": true}', fault };
  const tools = (calls[turn - 1] ?? []).map((n) => ({ name: toolName.current, input: { n } }));
  return { thinking: `turn ${turn}`, text: `I mark ${turn}. `, tools, fault };
}

beforeAll(async () => {
  models = await ModelRuns.open(reply);
  ({ host, servers } = models);
  await host.register("turns", join(import.meta.dir, "turns/turns.ts"));
}, 180_000);
afterAll(() => models.close());

async function start(model: Model, { die = "", at = null as Event | null } = {}): Promise<Run> {
  event = at;
  return await models.start("turns", model, die);
}

const markedIn = (run: Run): number[] => models.marksOf(run).map(Number.parseFloat);

/** Replaces the request number in each id by its position among the text's distinct request numbers. */
function withOwnIds(text: string): string {
  const id = /"(toolu|call|fc|rs|msg)_(\d+)/g;
  const requests = [...new Set([...text.matchAll(id)].map(([, , n]) => n))];
  return text.replace(id, (_, name: string, n: string) => `"${name}_${requests.indexOf(n)}`);
}

/** Returns the received bodies by turn. */
function bodiesOf(model: Model): Map<number, string[]> {
  const bodies = new Map<number, string[]>();
  for (const { body } of servers[model].came) {
    const turn = turnOf(body as Body);
    bodies.set(turn, [...(bodies.get(turn) ?? []), withOwnIds(JSON.stringify(body))]);
  }
  return bodies;
}

/** Resumes an interrupted thread, and returns the ended thread. Expects the ledger to equal the server's counts. */
async function resumed({ ref, env, cwd }: Run) {
  expect((await settled(host, ref)).status).toBe("interrupted");
  await host.control(ref, { kind: "resume", env, cwd });
  const view = await settled(host, ref);
  await models.expectCounted(ref);
  return view;
}

const undisturbed = new Map<Model, Map<number, string[]>>();
async function conversationOf(model: Model): Promise<Map<number, string[]>> {
  const known = undisturbed.get(model);
  if (known) return known;
  const run = await start(model);
  const view = await settled(host, run.ref);
  expect([view.status, view.steps[0]?.content ?? view]).toEqual(["completed", '{"done": true}']);
  expect(markedIn(run)).toEqual(numbers);
  await models.expectCounted(run.ref);
  const bodies = bodiesOf(model);
  expect([...bodies.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1, 1]);
  const reasoned = bodies.get(last)?.[0]?.match(/"encrypted_content":"sealed:/g) ?? [];
  expect(reasoned.length).toBe(model === "responses" ? calls.length : 0);
  undisturbed.set(model, bodies);
  return bodies;
}

/**
 * Expects the requests to equal those of an undisturbed run, byte for byte, with two requests for each turn in `twice`.
 */
function expectSame(model: Model, whole: Map<number, string[]>, twice: number[]): void {
  const bodies = bodiesOf(model);
  for (let turn = 1; turn <= last; turn += 1) {
    const [text = ""] = whole.get(turn) ?? [];
    expect({ turn, bodies: bodies.get(turn) }).toEqual({
      turn,
      bodies: twice.includes(turn) ? [text, text] : [text],
    });
  }
}

const numbers = calls.flat();

describe("a role continues after a kill of its process", () => {
  const turns = Array.from({ length: last }, (_, at) => at + 1);
  const kinds = ["asked", "answering"] as const;
  const moments = turns.flatMap((turn) => kinds.map((kind) => ({ turn, kind })));
  test.each(some(moments, 4, 1))("in turn $turn, in the state '$kind'", async (at) => {
    const whole = await conversationOf("claude");
    const run = await start("claude", { at });
    const view = await resumed(run);
    expect([view.status, view.steps[0]?.content ?? view]).toEqual(["completed", '{"done": true}']);
    expectSame("claude", whole, [at.turn]);
    expect(markedIn(run)).toEqual(numbers);
  });

  test.each(some(numbers, 3, 1))("in tool call %d, before and after its effect", async (n) => {
    const whole = await conversationOf("claude");
    for (const moment of ["before", "after"]) {
      const run = await start("claude", { die: `${moment} ${n}` });
      expect((await resumed(run)).status).toBe("completed");
      expectSame("claude", whole, []);
      // Calls of one turn run concurrently, so several calls may be unrecorded and repeated.
      const turn = calls.find((each) => each.includes(n)) ?? [];
      const others = numbers.filter((each) => !turn.includes(each));
      expect(markedIn(run).filter((each) => !turn.includes(each))).toEqual(others);
      expect(new Set(markedIn(run))).toEqual(new Set(numbers));
    }
  });

  test("after the last answer and before the commit of its step", async () => {
    const whole = await conversationOf("claude");
    const run = await start("claude", { die: "end" });
    expect((await resumed(run)).status).toBe("completed");
    expectSame("claude", whole, []);
    expect(markedIn(run)).toEqual(numbers);
    const attempts = await host.attempts(run.ref);
    expect(attempts.map(({ status }) => status)).toEqual(["lost", "committed"]);
  });
});

test.each(["gpt", "responses"] as const)(
  "a role of %s continues after a kill during an answer",
  async (model) => {
    const whole = await conversationOf(model);
    const run = await start(model, { at: { turn: 3, kind: "answering" } });
    expect((await resumed(run)).status).toBe("completed");
    expectSame(model, whole, [3]);
    expect(markedIn(run)).toEqual(numbers);
  },
);

const overloaded = { status: 529, type: "overloaded_error", message: "Overloaded" } as const;

async function retried({ ref, env }: Run) {
  const fork = await host.fork(ref, retryOptions(await host.read(ref), { env }));
  const view = await settled(host, fork);
  await models.expectCounted(ref, fork);
  return view;
}

describe("a retry continues", () => {
  const faults: Record<string, Fault> = {
    "a refused turn": { kind: "status", ...overloaded },
    "an overload in mid-stream": { kind: "error-event", after: 3, ...overloaded },
    "a lost connection": { kind: "half-event", after: 3 },
  };
  test.each(Object.entries(faults))("after %s", async (_name, fault) => {
    const whole = await conversationOf("claude");
    const run = await start("claude", { at: { turn: 4, fault } });
    expect((await settled(host, run.ref)).status).toBe("failed");
    expect((await retried(run)).status).toBe("completed");
    expectSame("claude", whole, [4]);
    expect(markedIn(run)).toEqual(numbers);
  });

  test("after a tool that exits the process", async () => {
    const whole = await conversationOf("claude");
    const run = await start("claude", { die: "exit 3" });
    const failed = await settled(host, run.ref);
    expect(failed).toMatchObject({ status: "failed", error: { code: "BUNDLE_EXITED" } });
    expect((await retried(run)).status).toBe("completed");
    expectSame("claude", whole, []);
    expect(markedIn(run)).toEqual(numbers);
  });

  test("after an answer that did not fit the schema, and repeats only its request", async () => {
    const whole = await conversationOf("claude");
    const run = await start("claude", { at: { turn: last, text: "no fields" } });
    expect((await settled(host, run.ref)).status).toBe("failed");
    const { came } = servers.claude;
    expect(came.length).toBe(last + 2);
    expect((await retried(run)).status).toBe("completed");
    expect(came.length).toBe(last + 3);
    const [text = ""] = whole.get(last) ?? [];
    expect(bodiesOf("claude").get(last)).toEqual([text, text]);
    // The thread that failed had requested the answer again twice, in the same conversation.
    expect([last + 1, last + 2].map((turn) => bodiesOf("claude").get(turn)?.length)).toEqual([
      1, 1,
    ]);
    expect(markedIn(run)).toEqual(numbers);
  });
});

test("the model learns that the outcome of a call that must not run twice is unknown", async () => {
  toolName.current = "pay";
  try {
    for (const moment of ["before", "after"]) {
      const run = await start("claude", { die: `${moment} 3` });
      expect((await resumed(run)).status).toBe("completed");
      const shown = bodiesOf("claude").get(3)?.join("") ?? "";
      expect(shown).toContain("the outcome of pay is unknown");
      expect(markedIn(run)).toEqual(numbers.filter((n) => n !== 3 || moment === "after"));
    }
  } finally {
    toolName.current = "mark";
  }
});

test("a damaged journal stops the thread until it is restored, and no call is repeated", async () => {
  const run = await start("claude", { at: { turn: last, kind: "asked" } });
  expect((await settled(host, run.ref)).status).toBe("interrupted");
  const { ref, env, cwd } = run;
  const journal = journalPath(models.root, ref.hash, ref.threadId);
  const whole = readFileSync(journal, "utf8");
  writeFileSync(journal, whole.replace("marked 3", "mark\\n 3"));
  for (const act of [
    () => host.control(ref, { kind: "resume", env, cwd }),
    async () => host.fork(ref, { keep: { atStep: 0 }, env }),
  ]) {
    const refused = await act().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "LOG_CORRUPT" });
    expect((refused as Error).message).toStartWith(`${journal}:`);
  }
  expect(markedIn(run)).toEqual(numbers);
  writeFileSync(journal, whole);
  expect((await resumed(run)).status).toBe("completed");
  expect([markedIn(run), servers.claude.came.length]).toEqual([numbers, last + 1]);
});
