import { afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSource, openLocalHost } from "@uncaged/workflow/host";
import { removeStores, TestStore } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { type PlannerOutput } from "../src/entry/index.ts";
import { planIn } from "../src/bundle/describe.ts";
import { processesIn } from "../../workflow-agents/test/processes.ts";
import { planSource } from "../src/entry/source.ts";
import { eventsIn, plan, statesIn, step } from "./parts.ts";

/* Plans as threads of real workers. A command with the output of Claude Code runs their steps. */
setDefaultTimeout(180_000);
afterEach(removeStores);
const command = fileURLToPath(new URL("./agents/claude.mjs", import.meta.url));

async function built(definition: PlannerOutput): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "uw-plan-"));
  try {
    const path = join(folder, "plan.json");
    writeFileSync(path, JSON.stringify(definition));
    const { bytes } = await buildSource(path, { sources: [planSource(() => undefined)] });
    return new TextDecoder().decode(bytes);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const does = (id: string, description: string, depends_on: string[] = []) =>
  step(id, depends_on, { description });

type Call = { words?: string; resumed: string | null; interrupted: boolean; child?: number };

const callsIn = (store: TestStore): Call[] => {
  const path = join(store.folder, "calls");
  const text = existsSync(path) ? readFileSync(path, "utf8").trimEnd() : "";
  return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line) as Call);
};

/** Starts a plan's thread, whose agent finds Node on PATH. */
async function started(definition: PlannerOutput, options: Record<string, unknown> = {}) {
  const store = new TestStore();
  const hash = await store.add(await built(definition));
  const env = { ...store.env, PATH: process.env.PATH ?? "" };
  const ref = await store.start(hash, definition.description, {
    env,
    maxRounds: 10_000,
    options: { agentCommand: command, ...options },
  });
  return { store, ref, env, host: openLocalHost({ path: store.root }) };
}

let bundle = "";
const two = plan([does("a", "say hello"), does("b", "say bye", ["a"])]);
beforeAll(async () => {
  bundle = await built(two);
});

test("a plan's bundle has its definition, and no library that only the checks need", async () => {
  expect(bundle.length).toBeLessThan(260_000);
  expect(bundle).not.toMatch(/dagre|croner|ZodError/);
  const { description: _, ...other } = { ...two, phase: "active", updated_at: "later" };
  expect(await built({ ...other, description: two.description })).toBe(bundle);
  const store = new TestStore();
  const { hash } = await openLocalHost({ path: store.root }).store(await written(store));
  const descriptor = await openLocalHost({ path: store.root }).descriptor(hash);
  expect(planIn(descriptor ?? {})).toMatchObject({
    name: two.name,
    steps: [{ id: "a" }, { id: "b" }],
  });
});

async function written(store: TestStore): Promise<string> {
  const path = join(store.folder, "two.esm.js");
  await Bun.write(path, bundle);
  return path;
}

test("a killed worker's step repeats with its session, and successful steps do not repeat", async () => {
  const { env, host, ref, store } = await started(
    plan([does("a", "say hello"), does("slow", "wait", ["a"]), does("end", "say done", ["slow"])]),
  );
  await until(() => callsIn(store).length === 2);
  await store.signalWorkers("SIGKILL");
  await store.whenStatus(ref, "interrupted");
  writeFileSync(join(store.folder, "go"), "");
  await host.control(ref, { kind: "resume", env });
  const { result, steps } = await store.whenStatus(ref, "completed", "failed");
  expect(result).toEqual({ returnCode: 0, summary: "3 steps succeeded" });
  expect(eventsIn(steps)).toEqual([
    ...["started a", "succeeded a", "started slow", "started slow", "succeeded slow"],
    ...["started end", "succeeded end"],
  ]);
  const [, first, second] = callsIn(store);
  expect(first).toMatchObject({ resumed: null, interrupted: false });
  expect(second).toMatchObject({ interrupted: true, resumed: steps[2]?.meta.sdkSessionId });
  expect(steps.at(-1)?.content).toBe("said done");
  const shown = (await host.attempts(ref)).filter(({ role }) => role === "slow");
  expect(shown.map(({ status }) => status)).toContain("lost");
});

test("the attempt after a failed attempt continues its session, and an invalid result is a failure", async () => {
  const policy = { on_step_failure: "skip_dependents", max_retries: 1, retry_delay_ms: 1 } as const;
  const { ref, store } = await started(
    plan(
      [
        does("again", "fail-once now"),
        does("turns", "max-turns"),
        does("silent", "nothing"),
        does("empty", "empty"),
        does("after", "say", ["turns"]),
      ],
      policy,
    ),
  );
  const { result, steps } = await store.whenStatus(ref, "completed", "failed");
  expect(statesIn(steps)).toEqual({
    ...{ again: "succeeded", turns: "failed", silent: "failed", empty: "succeeded" },
    after: "skipped",
  });
  expect(result?.summary).toContain("also failed: ");
  const [failed] = steps.filter(({ meta }) => meta.event === "attempt_failed");
  const tried = steps.filter(({ role }) => role === "again");
  expect(failed).toBeDefined();
  expect(tried[1]).toMatchObject({ content: expect.stringContaining("it broke") });
  const calls = callsIn(store).filter(({ words }) => words === "fail-once now");
  expect(calls.map(({ resumed }) => resumed)).toEqual([
    null,
    tried[1]?.meta.sdkSessionId as string,
  ]);
});

test("an agent is ended with all its processes at its timeout, and when its run is killed", async () => {
  const timed = plan([does("child", "child")]);
  const limited = { ...timed, metadata: { container: { timeout: 600 } } };
  const late = await started(limited);
  const { steps } = await late.store.whenStatus(late.ref, "failed");
  expect(steps.at(-1)?.content).toContain("was ended after 600 ms");
  const killed = await started(timed);
  await until(() => callsIn(killed.store).some(({ child }) => child !== undefined));
  await killed.host.control(killed.ref, { kind: "kill" });
  for (const { store } of [late, killed]) {
    await until(() => processesIn(store.folder).length === 0);
  }
});
