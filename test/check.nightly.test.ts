import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Step, WorkflowFn } from "@uncaged/workflow";
import fc from "fast-check";
import { generatedGraph } from "../packages/workflow-graph/test/generated/graphs.ts";
import { runGenerated as runGraph } from "../packages/workflow-graph/test/generated/run.ts";
import { graphBundle } from "../packages/workflow-graph/src/entry/index.ts";
import { generatedPlan } from "../packages/workflow-plan/test/generated/plans.ts";
import { runGenerated as runPlan } from "../packages/workflow-plan/test/generated/run.ts";
import { planBundle } from "../packages/workflow-plan/src/entry/index.ts";
import type { Generated } from "../packages/workflow-steps/test/generated/draft.ts";
import { runBundle } from "../packages/workflow-steps/test/generated/run.ts";
import { generatedWorkflows } from "../packages/workflow-steps/test/generated/workflows.ts";
import { stepsBundle } from "../packages/workflow-steps/src/bundle/bundle.ts";
import type { Recording, Verdict } from "../packages/workflow/src/upgrade/recording.ts";
import { replay } from "../packages/workflow/src/upgrade/replay.ts";
import { replaceSurroundings } from "../packages/workflow/src/upgrade/surroundings.ts";
import { Chance } from "./check/chance.ts";
import { generatedProgram, type Line, type Program, textOf } from "./check/programs.ts";
import { type Kind, kinds, recordedThread, World } from "./check/threads.ts";

const seed = Number(process.env.TEST_SEED ?? 1);
const count = process.env.TEST_CASES === "all" ? 1_000 : 500;
const core = join(import.meta.dir, "../packages/workflow/src/entry/index.ts");

let folder: string;
let restore = (): void => undefined;
const world = new World();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "uncaged-check-test-"));
  (globalThis as { checkedWorld?: World }).checkedWorld = world;
  writeFileSync(join(folder, "world.ts"), "export const world = (globalThis as any).checkedWorld;");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

async function loaded(program: Program): Promise<{ run: WorkflowFn; file: string }> {
  files += 1;
  const file = join(folder, `p${files}.ts`);
  writeFileSync(file, textOf(program).replace("CORE", core).replace("WORLD", "./world.ts"));
  return { run: ((await import(file)) as { run: WorkflowFn }).run, file };
}

async function check(run: WorkflowFn, recording: Recording): Promise<Verdict> {
  restore = replaceSurroundings();
  try {
    return await replay(run, recording, { limitMs: 10_000, onProgress: () => undefined });
  } finally {
    restore();
  }
}

const mostCuts = 20;

/** Returns a recording as kills leave it: cut at every position, or at some positions of a long one. */
function cutsOf({ start, steps }: Recording, chosen: number): Recording[] {
  const chance = new Chance(chosen);
  const places =
    steps.length < mostCuts
      ? [...steps.keys(), steps.length]
      : Array.from({ length: mostCuts }, () => chance.below(steps.length + 1));
  return places.map((place) => ({ start, steps: steps.slice(0, place), end: null }));
}

/** Sound threads of an interpreter's workflow, and the workflow with a renamed step. */
type Case = {
  run: WorkflowFn;
  steps: Step[];
  isFailed: boolean;
  maxRounds: number;
  prompt: string;
};
type Renamed = (role: string) => WorkflowFn;

async function checkInterpreter(
  { run, steps, isFailed, maxRounds, prompt }: Case,
  renamed: Renamed,
  n: number,
): Promise<boolean> {
  const start: Recording["start"] = {
    ...{ name: "generated", hash: "0".repeat(13), threadId: "0".repeat(26), timestamp: 1 },
    parameters: { prompt, options: { maxRounds, cwd: "/" } },
  };
  const whole: Recording = { start, steps, end: isFailed ? "failed" : "returned" };
  for (const one of [whole, ...cutsOf(whole, n)]) {
    const at = { n, steps: one.steps.length, end: one.end };
    expect({ ...at, ...(await check(run, one)) }).toMatchObject({ ...at, at: null });
  }
  const ran = steps.filter(({ role }) => !/^__|\//.test(role));
  const victim = ran[n % ran.length];
  if (!victim) return true;
  return (await check(renamed(victim.role), whole)).status === "diverges";
}

/** Replaces a JSON string everywhere in a document. */
const replaced = <T>(document: T, text: string, by: string): T =>
  JSON.parse(JSON.stringify(document).replaceAll(JSON.stringify(text), JSON.stringify(by))) as T;

const unused = (): never => {
  throw new Error("a role ran");
};

describe("interpreters raise no alarms on sound threads, and a renamed step is found", () => {
  const cases = count / 2;

  test("agent graphs", async () => {
    let found = 0;
    for (let n = seed; n < seed + cases; n += 1) {
      const document = generatedGraph(n);
      const { end, steps } = await runGraph(document, n, { kills: n % 2 === 0 });
      const bundle = (one: typeof document) => graphBundle(one, { agents: unused }).run;
      const one = { run: bundle(document), steps, isFailed: end === "rounds", maxRounds: 120 };
      const renamed = (role: string) => bundle(replaced(document, role, `${role}x`));
      found += Number(await checkInterpreter({ ...one, prompt: "in" }, renamed, n));
    }
    expect(found).toBe(cases);
  }, 600_000);

  test("plans", async () => {
    let found = 0;
    for (let n = seed; n < seed + cases; n += 1) {
      const plan = generatedPlan(n);
      const { steps } = await runPlan(n, plan, { kills: false });
      const bundle = (one: typeof plan) => planBundle(one, { agent: unused }).run;
      const one = { run: bundle(plan), steps, isFailed: false, maxRounds: 10_000, prompt: "" };
      const renamed = (role: string) => {
        const text = JSON.stringify(plan).replaceAll(`$steps.${role}.`, `$steps.${role}x.`);
        return bundle(replaced(JSON.parse(text) as typeof plan, role, `${role}x`));
      };
      found += Number(await checkInterpreter(one, renamed, n));
    }
    expect(found).toBe(cases);
  }, 600_000);

  test("step workflows", async () => {
    let [found, n] = [0, 0];
    const property = async (generated: Generated) => {
      n += 1;
      const { document, subflows, maxConcurrency } = generated;
      const { status, steps } = await runBundle(generated);
      const bundle = (one: typeof document) => {
        const adapters = { tool: { execute: unused }, service: { call: unused } };
        const options = { adapters, customHandlers: { Custom: unused }, subflows, maxConcurrency };
        return stepsBundle(one, { ...options, isChecked: true }).run;
      };
      const renamed = (role: string) => bundle(replaced(document, role, role.replace("_", "_X")));
      const one = { run: bundle(document), steps, isFailed: status === "failed" };
      const whole = { ...one, maxRounds: 20_000, prompt: "" };
      found += Number(await checkInterpreter(whole, renamed, n));
    };
    await fc.assert(fc.asyncProperty(generatedWorkflows(true), property), {
      ...{ seed: 20_260 + seed, numRuns: cases, endOnFailure: true },
    });
    // A renamed step that runs beside other steps may count as work in flight.
    expect(found).toBeGreaterThan(cases * 0.99);
  }, 600_000);
});

describe("durable workflows", () => {
  test(`${count} sound threads raise no alarms on a version with the same steps`, async () => {
    const seen = new Map<string, number>();
    for (let n = seed; n < seed + count; n += 1) {
      const kind = kinds[n % kinds.length] as Kind;
      const { run } = await loaded(generatedProgram(n));
      const recording = await recordedThread(run, world, kind, n);
      if (recording === null) continue;
      const other = await loaded(generatedProgram(n, { isOther: true }));
      for (const one of [run, other.run]) {
        const { status, at } = await check(one, recording);
        expect({ n, kind, at }).toEqual({ n, kind, at: null });
        seen.set(status, (seen.get(status) ?? 0) + 1);
      }
      for (const one of cutsOf(recording, n)) {
        const steps = one.steps.length;
        const { at } = await check(other.run, one);
        expect({ n, kind, steps, at }).toEqual({ n, kind, steps, at: null });
      }
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }
    const rare = [...kinds, "continues", "ended"].filter(
      (one) => (seen.get(one) ?? 0) < count / 50,
    );
    expect({ rare, seen }).toEqual({ rare: [], seen });
  }, 600_000);

  /** Changes a program at a line. Returns the changed program. */
  type Fault = (lines: Line[], at: number) => Line[];
  const faults: Record<string, Fault> = {
    "a renamed role": (lines, at) => {
      const { text = "", asks = "" } = lines[at] ?? {};
      return lines.with(at, { text: text.replace(`"${asks}"`, '"renamed"') });
    },
    "a changed order": (lines, at) =>
      lines.with(at, lines[at + 1] as Line).with(at + 1, lines[at] as Line),
    "a branch on a random number": (lines, at) =>
      lines.with(at, beforeIt(lines, at, "Math.random() < 0.6")),
    "a branch on a variable": (lines, at) =>
      lines.with(at, beforeIt(lines, at, "process.env.PLANTED_FLAG")),
    "a branch on the time of day": (lines, at) =>
      lines.with(at, beforeIt(lines, at, "new Date().getUTCHours() < 12")),
  };
  const beforeIt = (lines: Line[], at: number, condition: string): Line => ({
    text: `if (${condition}) yield* step("planted", () => 0); ${lines[at]?.text.trim()}`,
  });

  for (const [name, plant] of Object.entries(faults)) {
    test(`finds ${name}, with its step and its line`, async () => {
      let planted = 0;
      for (let n = seed; n < seed + count && planted < count / 5; n += 1) {
        const program = generatedProgram(n);
        const { run } = await loaded(program);
        const recording = await recordedThread(run, world, kinds[n % 2] as Kind, n);
        if (recording === null) continue;
        const pairs = program.lines.flatMap(({ isFirstOfPair, asks }, at) => {
          const step = recording.steps.findIndex(({ role }) => role === asks) + 1;
          return isFirstOfPair && step > 0 ? { at, step } : [];
        });
        const place = pairs[new Chance(n).below(pairs.length)];
        if (!place) continue;
        planted += 1;
        const changed = await loaded({ lines: plant(program.lines, place.at) });
        const { status, at } = await check(changed.run, recording);
        const line = at?.stack?.split("\n").find((one) => one.includes(changed.file));
        expect({ n, name, status, step: at?.step, line }).toEqual({
          ...{ n, name, status: "diverges", step: place.step },
          line: expect.stringContaining(`${changed.file}:${place.at + 1}:`) as string,
        });
      }
      expect(planted).toBeGreaterThan(count / 10);
    }, 600_000);
  }
});
