import { afterAll, beforeAll, expect, test } from "bun:test";
import { fileURLToPath } from "node:url";
import {
  buildSource,
  type Host,
  isWorkflowError,
  openLocalHost,
  retryOptions,
} from "@uncaged/workflow/host";
import { removeStores, TestStore } from "../../workflow/test/fixtures/store.ts";
import { foldRun } from "../src/run.ts";
import { Chance } from "./generated/chance.ts";
import { decisionOn, generatedGraph, tooLong } from "./generated/graphs.ts";
import { Oracle } from "./generated/oracle.ts";
import { isEach, type Outcome, runGenerated, runsIn, twiceIn } from "./generated/run.ts";

/* As generated.nightly.test.ts, with real workers that are killed with -9 at random moments. One drives all graphs. */
const graphs = process.env.TEST_CASES === "all" ? 1000 : 50;
const together = 50;
const kills = 3;
const mostSeconds = 120;
const maxRounds = 200;

type Ref = { hash: string; threadId: string };

let bundle = "";
const { UNCAGED_WORKFLOW_IDLE_MS: idleBefore } = process.env;
beforeAll(async () => {
  // A worker that has nothing to do is there for the next kill, however long that takes to come.
  process.env.UNCAGED_WORKFLOW_IDLE_MS = "60000";
  const path = fileURLToPath(new URL("./bundles/generated.ts", import.meta.url));
  bundle = new TextDecoder().decode((await buildSource(path)).bytes);
});
afterAll(async () => {
  process.env.UNCAGED_WORKFLOW_IDLE_MS = idleBefore;
  await removeStores();
});

const chance = new Chance(Math.trunc(Math.random() * 2 ** 32));
const seen = { killed: 0, failed: 0, answered: 0 };

/** Threads of some graphs, in one worker, until each has ended. */
class Batch {
  readonly ended = new Map<number, Ref>();
  readonly #going = new Map<number, Ref>();
  readonly #store: TestStore;
  readonly #host: Host;
  #killsLeft = kills;
  #nextKill = 0;

  constructor(store: TestStore, threads: ReadonlyMap<number, Ref>) {
    this.#store = store;
    this.#host = openLocalHost({ path: store.root });
    this.#going = new Map(threads);
    this.#nextKill = chance.below(threads.size * 3);
  }

  async run(): Promise<void> {
    const late = Date.now() + mostSeconds * 1000;
    while (this.#going.size > 0) {
      if (Date.now() > late) throw new Error(`never ended: ${[...this.#going.keys()].join(", ")}`);
      const steps = await this.#round();
      if (this.#killsLeft === 0 || steps < this.#nextKill) continue;
      this.#killsLeft -= 1;
      this.#nextKill = steps + 1 + chance.below(this.#going.size * 3 + 1);
      seen.killed += this.#store.workers().length;
      await this.#store.signalWorkers("SIGKILL");
    }
  }

  /** Does for each thread what it needs to go on, in any order, and gives how many steps all have. */
  async #round(): Promise<number> {
    const shuffled = [...this.#going]
      .map((one) => ({ one, by: chance.next() }))
      .toSorted((one, other) => one.by - other.by);
    const counts = await Promise.all(shuffled.map(({ one: [seed, ref] }) => this.#help(seed, ref)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Resumes a thread, unless a worker that was started for another one has got to it already. */
  async #resume(ref: Ref): Promise<void> {
    const { env } = this.#store;
    await this.#host.control(ref, { kind: "resume", env }).catch((error: unknown) => {
      if (!isWorkflowError(error) || error.code !== "WAITING") throw error;
    });
  }

  async #help(seed: number, ref: Ref): Promise<number> {
    const { env } = this.#store;
    const view = await this.#host.read(ref);
    switch (view.status) {
      case "completed":
        this.#going.delete(seed);
        this.ended.set(seed, ref);
        break;
      case "interrupted":
        await this.#resume(ref);
        break;
      case "waiting": {
        const { input, nodeId } = view.question.meta;
        const content = decisionOn(String(nodeId), input);
        const value = JSON.parse(content) as object;
        await this.#host.control(ref, { kind: "answer", env, input: { content, value } });
        seen.answered += 1;
        break;
      }
      case "failed": {
        const { summary } = view.result;
        if (summary === tooLong || summary === "Round limit reached") {
          this.#going.delete(seed);
          break;
        }
        expect(summary).toMatch(/^n\d+ failed$/);
        const { hash, threadId } = await this.#host.fork(ref, retryOptions(view, { env }));
        this.#going.set(seed, { hash, threadId });
        seen.failed += 1;
        break;
      }
      default:
    }
    return view.steps.length;
  }
}

/** A graph's run that nothing disturbed; null when its rounds were used up. */
async function calmly(seed: number): Promise<Outcome | null> {
  const calm = await runGenerated(generatedGraph(seed), seed, { kills: false });
  return calm.end === "completed" ? calm : null;
}

function check(seed: number, calm: Outcome, steps: Outcome["steps"]): void {
  const document = generatedGraph(seed);
  const oracle = new Oracle(document, "in");
  for (const step of steps) oracle.read(step);
  const { state } = foldRun(document, { steps });
  const left = Object.keys(state).filter((key) => /^__.*__$/.test(key));
  const found = { seed, isDone: oracle.isDone, twice: twiceIn(steps), left };
  expect(found).toEqual({ seed, isDone: true, twice: 0, left: [] });
  if (isEach(seed) || calm.oracle.wasBroken || oracle.wasBroken) return;
  expect({ seed, runs: runsIn(steps) }).toEqual({ seed, runs: runsIn(calm.steps) });
}

test(`${graphs} generated graphs, whose worker is killed with -9 again and again, do what they do undisturbed`, async () => {
  for (let first = 1; first <= graphs; first += together) {
    const store = new TestStore();
    const hash = await store.add(bundle);
    const calm = new Map<number, Outcome>();
    for (let seed = first; seed < first + together && seed <= graphs; seed += 1) {
      const outcome = await calmly(seed);
      if (outcome) calm.set(seed, outcome);
    }
    const threads = await Promise.all(
      [...calm.keys()].map(
        async (seed) => [seed, await store.start(hash, String(seed), { maxRounds })] as const,
      ),
    );
    const batch = new Batch(store, new Map(threads));
    await batch.run();
    for (const [seed, outcome] of calm) {
      const ref = batch.ended.get(seed);
      if (ref) check(seed, outcome, (await store.read(ref)).steps);
      // Another order of its nodes may have let a loop go on.
      else
        expect({ seed, isOrdered: !isEach(seed) && !outcome.oracle.wasBroken }).toEqual({
          seed,
          isOrdered: false,
        });
    }
    await removeStores();
  }
  expect(seen.killed).toBeGreaterThan(0);
  expect(seen.answered).toBeGreaterThan(graphs / 4);
}, 600_000);
