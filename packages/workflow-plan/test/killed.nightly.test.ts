import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSource, type Host, isWorkflowError, openLocalHost } from "@uncaged/workflow/host";
import { removeStores, TestStore } from "../../workflow/test/fixtures/store.ts";
import { Oracle } from "./generated/oracle.ts";
import { decisionOn, generatedPlan } from "./generated/plans.ts";

/* As generated.test.ts, with real workers that are killed with -9 at random moments. One drives all plans. */
const plans = process.env.TEST_CASES === "all" ? 200 : 30;
const kills = 4;
const mostSeconds = 120;
afterAll(removeStores);

type Ref = { hash: string; threadId: string };
const seen = { killed: 0, answered: 0, again: 0 };

/** Does for a thread what it needs to go on: whether it has ended, and how many records it has. */
async function help(host: Host, seed: number, ref: Ref, env: Record<string, string>) {
  const view = await host.read(ref);
  try {
    if (view.status === "interrupted") await host.control(ref, { kind: "resume", env });
    if (view.status === "waiting") {
      const { stepId, token } = view.question.meta as { stepId: string; token: string };
      const content = decisionOn(seed, stepId, Number(token.split("#")[1]));
      const input = { content, value: content, meta: { token } };
      await host.control(ref, { kind: "answer", env, input });
      seen.answered += 1;
    }
  } catch (error) {
    // A worker that was started for another thread has got to it already.
    if (!isWorkflowError(error)) throw error;
  }
  const isOver = view.status === "completed" || view.status === "failed";
  const isAtWork = view.steps.some(({ meta }) => meta.event === "started");
  return { isOver, isAtWork, records: view.steps.length };
}

/** How many records there must be for the next kill: some more, so that agents were at work. */
const nextKill = (records: number): number => records + 1 + Math.trunc(Math.random() * 80);

test(`${plans} generated plans, whose worker is killed with -9 again and again, run as the protocol has it`, async () => {
  const store = new TestStore();
  const host = openLocalHost({ path: store.root });
  const path = fileURLToPath(new URL("./bundles/generated.ts", import.meta.url));
  const hash = await store.add(new TextDecoder().decode((await buildSource(path)).bytes));
  const going = new Map<number, Ref>();
  const ended = new Map<number, Ref>();
  for (let seed = 1; seed <= plans; seed += 1) {
    going.set(seed, await store.start(hash, String(seed), { maxRounds: 10_000 }));
  }
  const late = Date.now() + mostSeconds * 1000;
  let ofEnded = 0;
  for (let killsLeft = kills, killAt = Number.POSITIVE_INFINITY; going.size > 0; ) {
    if (Date.now() > late) throw new Error(`never ended: ${[...going.keys()].join(", ")}`);
    let records = ofEnded;
    for (const [seed, ref] of going) {
      const found = await help(host, seed, ref, store.env);
      records += found.records;
      // Its agent waits for the first kill.
      if (seed === 1 && found.isAtWork && killsLeft === kills) killAt = 0;
      if (!found.isOver) continue;
      ofEnded += found.records;
      going.delete(seed);
      ended.set(seed, ref);
    }
    if (killsLeft === 0 || records < killAt) continue;
    killsLeft -= 1;
    killAt = nextKill(records);
    seen.killed += store.workers().length;
    await store.signalWorkers("SIGKILL");
    writeFileSync(join(store.folder, "gate"), "");
  }
  for (const [seed, ref] of ended) {
    const { result, steps } = await store.read(ref);
    const oracle = new Oracle(seed, generatedPlan(seed), 4);
    for (const one of steps) oracle.read(one);
    const isGood = Object.values(oracle.states).every((state) => state === "succeeded");
    const found = { seed, isDone: oracle.isDone, code: result?.returnCode };
    expect(found).toEqual({ seed, isDone: true, code: isGood ? 0 : 1 });
    const starts = steps.filter(({ meta }) => meta.event === "started");
    const own = starts.map(({ meta, role }) => `${role} ${String(meta.attempt)}`);
    seen.again += own.length - new Set(own).size;
  }
  for (const [what, count] of Object.entries(seen)) {
    expect({ what, isEnough: count > 0 }).toEqual({ what, isEnough: true });
  }
}, 180_000);
