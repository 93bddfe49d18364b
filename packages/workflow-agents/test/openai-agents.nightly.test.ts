import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { AgentsRuns, type Fault } from "./agents-runs.ts";

/*
 * Tests programs of OpenAI's Agents SDK whose process is killed at each of their events. No recorded answer is
 * requested again, no recorded tool call runs again, and each model gets the conversation of an undisturbed run.
 */
setDefaultTimeout(180_000);
let runs: AgentsRuns;

beforeAll(async () => {
  runs = await AgentsRuns.open();
  await runs.models.host.register("agents", join(import.meta.dir, "openai-agents/programs.ts"));
}, 180_000);
afterAll(() => runs.models.close());

/** The number of requests and the marks of each program. Each inner list has the marks of concurrent calls. */
const programs = {
  support: { requests: 5, marks: [[1, 2], [4], [6]], summary: "Refunds: all is done" },
  streamed: { requests: 5, marks: [[1, 2], [4], [6]], summary: "Refunds: all is done" },
  team: { requests: 16, marks: [[11], [12]], summary: null },
  hosted: { requests: 2, marks: [], summary: "found it" },
};

const undisturbed = new Map<string, { bodies: string[]; result: unknown; session: string }>();

const sessionOf = (cwd: string): string => {
  try {
    return readFileSync(join(cwd, "session"), "utf8").replaceAll(/_\d+(?=[_"])/g, "");
  } catch {
    return "";
  }
};

async function expected(program: string) {
  const known = undisturbed.get(program);
  if (known) return known;
  const run = await runs.start("agents", program);
  const { view } = await runs.finished(run);
  const whole = {
    bodies: runs.answered(),
    result: "result" in view && view.result,
    session: sessionOf(run.cwd),
  };
  undisturbed.set(program, whole);
  return whole;
}

const events = (
  program: string,
  requests: number,
  marks: readonly number[][],
): (Fault | string)[] => [
  ...Array.from({ length: requests }, (_, n) => ({ request: n + 1, kind: "asked" as const })),
  ...(program === "streamed"
    ? Array.from({ length: requests }, (_, n) => ({ request: n + 1, kind: "answering" as const }))
    : []),
  ...marks.flat().flatMap((n) => [`before ${n}`, `after ${n}`]),
  ...(program === "team" ? ["saved"] : []),
  "end",
];

describe.each(Object.entries(programs))(
  "the program %s",
  (program, { requests, marks, summary }) => {
    test("completes without a crash", async () => {
      const { bodies, result } = await expected(program);
      expect(bodies.length).toBe(requests);
      if (summary !== null) expect(result).toMatchObject({ returnCode: 0, summary });
    });

    test.each(events(program, requests, marks))("continues after a kill at %j", async (at) => {
      const whole = await expected(program);
      const run = await runs.start("agents", program, at);
      const { view } = await runs.finished(run);
      expect(view).toMatchObject({ status: "completed", result: whole.result as object });
      expect(runs.answered()).toEqual(whole.bodies);
      expect(sessionOf(run.cwd)).toBe(whole.session);
      // The call at the kill, and its concurrent calls, may have left a mark without a recorded result.
      const dead = typeof at === "string" ? Number(at.split(" ")[1]) : 0;
      const beside = marks.find((group) => group.includes(dead)) ?? [];
      const left = runs.models.marksOf(run).map(Number);
      const once = (all: readonly number[]) =>
        all.filter((n) => !beside.includes(n)).sort((a, b) => a - b);
      const times = program === "team" ? 2 : 1;
      expect(once(left)).toEqual(
        once(marks.flat().flatMap((n) => Array(times).fill(n) as number[])),
      );
      for (const n of beside) expect(left).toContain(n);
      await runs.models.expectCounted(run.ref);
    });

    test.each(["killed", "gone"] as const)(
      "continues when the worker is %s while the thread waits",
      async (how) => {
        const whole = await expected(program);
        const run = await runs.start("agents", program);
        const before = () =>
          how === "killed" ? runs.models.kill() : signalWorkers(runs.models.root, "SIGTERM");
        const { view } = await runs.finished(run, { before });
        expect(view).toMatchObject({ status: "completed", result: whole.result as object });
        expect(runs.answered()).toEqual(whole.bodies);
      },
    );
  },
);
