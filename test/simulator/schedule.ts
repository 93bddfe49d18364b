import "./preload.ts";
import { isWorkflowError } from "../../packages/workflow/src/contract/error.ts";
import { sleepsUntil } from "../../packages/workflow/src/contract/wait.ts";
import { readLog } from "../../packages/workflow/src/disk/log.ts";
import { dataPath, type Root } from "../../packages/workflow/src/disk/paths.ts";
import { useSystem } from "../../packages/workflow/src/system/system.ts";
import { system } from "../../packages/workflow/src/system/system.ts";
import { runWorker } from "../../packages/workflow/src/worker/worker.ts";
import { Auditor, hasEnded, type Seen, stepsOf } from "./auditor.ts";
import { type Fault, FaultPlan } from "./faults.ts";
import { machineOf } from "./machine.ts";
import { moduleOf, rootPath, versions } from "./programs.ts";
import { Random } from "../../packages/workflow/src/chaos/random.ts";
import { add, giveAnswer, restore, isOf, type Scope, Workload } from "./workload.ts";
import { Ended, type Process, World } from "./world.ts";

/** Result of a schedule: a hash of all events, and its faults. */
export type Outcome = {
  seed: number;
  hash: string;
  failures: string[];
  came: readonly Fault[];
  calls: number;
  lines: readonly string[] | null;
};

export type ScheduleOptions = {
  seed: number;
  faults: readonly Fault[];
  scope: Scope;
  isTraced?: boolean;
};

const idleVariable = "UNCAGED_WORKFLOW_IDLE_MS";
const longestWork = 1_000_000;

/** Uncaught errors since the check of the last schedule. */
const uncaught: unknown[] = [];
process.on("unhandledRejection", (error) => {
  if (!isOf(error, Ended)) uncaught.push(error);
});

/** Runs the schedule of a seed from the first start to the last audit. */
export async function runSchedule(options: ScheduleOptions): Promise<Outcome> {
  const simulation = new Simulation(options);
  const outcome = simulation.run();
  // Uncaught errors are reported in a separate turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  for (const error of uncaught.splice(0)) {
    outcome.failures.push(
      `uncaught: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  }
  return outcome;
}

class Simulation {
  readonly #seed: number;
  readonly #scope: Scope;
  readonly #world: World;
  readonly #auditor: Auditor;
  readonly #work: Workload;
  readonly #random: Random;
  readonly #observer: Process;

  constructor({ seed, faults, scope, isTraced = false }: ScheduleOptions) {
    this.#seed = seed;
    this.#scope = scope;
    this.#world = new World(seed, new FaultPlan(faults), isTraced);
    this.#auditor = new Auditor(this.#world, rootPath);
    this.#random = new Random(seed, "workload");
    this.#work = new Workload(this.#world, this.#auditor, this.#random, scope);
    this.#world.onUncaught = (error) => this.#auditor.fail(`uncaught: ${String(error)}`);
    this.#observer = this.#world.start("observer", "observer", 0, () => undefined);
  }

  run(): Outcome {
    const [world, auditor] = [this.#world, this.#auditor];
    const effects = { executed: (threadId: string, n: number) => auditor.executed(threadId, n) };
    const work = ([root, hash, idleMs]: readonly string[]) =>
      runWorker(
        { root: root as Root, hash: hash as string, idleMs: Number(idleMs) },
        () => undefined,
      );
    const before = useSystem(
      machineOf(world, auditor, { work, module: (text) => moduleOf(text, effects) }),
    );
    const ownTime = withTime(world);
    const idleBefore = process.env[idleVariable];
    const print = console.error;
    console.error = () => undefined;
    process.env[idleVariable] = String(
      this.#random.pick(this.#scope === "workers" ? [0, 1, 5, 50] : [0, 5, 50, 300, 3_000]),
    );
    try {
      this.#live();
    } finally {
      useSystem(before);
      ownTime();
      console.error = print;
      if (idleBefore === undefined) delete process.env[idleVariable];
      else process.env[idleVariable] = idleBefore;
    }
    const { failures } = auditor;
    return {
      seed: this.#seed,
      hash: world.hash,
      failures,
      came: world.faults.came,
      calls: world.calls,
      lines: world.lines,
    };
  }

  #live(): void {
    const [world, random] = [this.#world, this.#random];
    world.faults.isOver = true;
    this.#attend("setup", async () => {
      for (const version of versions.slice(0, 3)) await add(this.#work, version);
      // After this, the product can find sleeping threads only by the index.
      await this.#work.host().wake({ env: {} });
    });
    world.faults.isOver = false;
    this.#auditor.onMoment = (process) => this.#readWithin(process);
    const clients = 2 + random.below(this.#scope === "workers" ? 3 : 2);
    for (let n = 0; n < clients; n += 1) {
      this.#work.client(`client${n}`, random.around(20), this.#work.commands(1 + random.below(4)));
    }
    this.#runUntilDone(longestWork);
    if (world.boots > 1) {
      this.#work.client("after", random.around(20), this.#work.commands(1 + random.below(3)));
      this.#runUntilDone(longestWork);
    }
    for (const command of this.#work.pending) this.#auditor.fail(`${command} was never answered`);
    world.faults.isOver = true;
    process.env[idleVariable] = "1000";
    // Sleeping threads wake, late messages arrive, and old requests may take effect.
    this.#wait(
      Math.max(0, ...world.processes.map(({ asleepUntil }) => asleepUntil - world.now)) + 150_000,
    );
    this.#recover();
  }

  get #isBroken(): boolean {
    return this.#auditor.failures.length > 0;
  }

  /** Runs one client to its end. */
  #attend(name: string, act: () => Promise<void>): void {
    if (this.#isBroken) return;
    this.#work.client(name, 0, () => this.#work.ask(name, act).then(() => undefined));
    this.#runUntilDone(longestWork);
    for (const command of this.#work.pending) this.#auditor.fail(`${command} was never answered`);
  }

  #runUntilDone(ms: number): void {
    const { processes } = this.#world;
    const isDone = () =>
      this.#isBroken || !processes.some(({ role, alive }) => role === "client" && alive);
    this.#world.run(this.#world.now + ms, isDone);
  }

  #wait(ms: number): void {
    this.#world.run(this.#world.now + ms, () => this.#isBroken);
  }

  /** Brings each thread to its end without further faults, and checks that each worker exits. */
  #recover(): void {
    const [world, auditor] = [this.#world, this.#auditor];
    const open = () => [...auditor.threads.values()].filter(isOpen);
    this.#attend("restore", async () => {
      for (const version of versions)
        if (auditor.damagedBundles.has(version.hash)) await restore(version);
    });
    for (let round = 0; round < 4 && open().length > 0; round += 1) {
      for (const seen of open())
        this.#attend(`finish ${seen.threadId}`, () => this.#finish(seen, round));
      this.#wait(4_000);
    }
    if (this.#isBroken) return;
    for (const seen of auditor.threads.values()) {
      if (seen.isDamaged && seen.isThere) this.#attend("name", () => this.#finish(seen, 9));
      if (isOpen(seen) && !seen.isNamed && !seen.isOver)
        auditor.fail(`${seen.threadId} did not end`);
      else if (seen.isDamaged && seen.isThere && !seen.isNamed && !auditor.isIntact(seen))
        auditor.fail(`the damage to ${seen.threadId} is not reported`);
    }
    this.#attend("collect", async () => {
      await this.#work.host().collect({ now: world.wall + 2 * 86_400_000 });
    });
    this.#wait(120_000);
    for (const { name, role, alive } of world.processes) {
      if (role === "worker" && alive) auditor.fail(`${name} does not exit`);
    }
    if (this.#isBroken || !this.#random.chance(0.5)) return;
    world.losePower(new Random(this.#seed, "last"));
    auditor.onPower();
  }

  /** Brings a thread closer to its end, like a user who sees its status. */
  async #finish(seen: Seen, round: number): Promise<void> {
    const { hash, threadId } = seen;
    const host = this.#work.host();
    for (let n = 0; n < 8; n += 1) {
      const view = await host.read({ hash, threadId });
      if (view.status === "corrupt") {
        seen.isNamed = true;
        if (!seen.isDamaged) this.#auditor.fail(`${threadId} is corrupt: ${view.broken.reason}`);
        // The worker of a corrupt thread continues with its state in memory, so kill the thread.
        await this.#work.ask("kill", () => host.control({ hash, threadId }, { kind: "kill" }));
        return;
      }
      const until = view.status === "waiting" ? sleepsUntil(view.question) : null;
      if (until !== null) await this.#wake(seen, until);
      else if (view.status === "waiting") {
        const requestId = `finish${round}-${n}`;
        await this.#work.ask("answer", () => giveAnswer(this.#work, { hash, threadId }, requestId));
      } else if (view.status === "interrupted" || view.status === "paused") {
        await this.#work.ask("resume", () =>
          host.control({ hash, threadId }, { kind: "resume", env: {} }),
        );
      } else if ("result" in view) {
        seen.isOver = true;
        return;
      }
      await system.clock.sleep(300);
    }
  }

  /** Advances the clock past a sleep and calls `wake`, which must wake this thread. */
  async #wake(seen: Seen, until: number): Promise<void> {
    const { hash, threadId } = seen;
    const world = this.#world;
    const steps = stepsOf(seen);
    // A thread whose wake-up failed is due again a minute later.
    world.clockOffset += Math.max(0, until - world.wall) + 61_000;
    const host = this.#work.host();
    await this.#work.ask("wake", () => host.wake({ env: {} }));
    const view = await host.read({ hash, threadId });
    if (view.status === "waiting" && stepsOf(seen) === steps && !seen.isDamaged)
      this.#auditor.fail(`${threadId} is due and was not woken`);
  }

  /** Starts a reader of the product at the moment of another process's call. */
  #readWithin(by: Process): void {
    if (by.role !== "worker" || !this.#world.random.chance(0.01)) return;
    for (const seen of this.#auditor.threads.values()) {
      if (!seen.isThere || seen.isDamaged || !seen.isEnded) continue;
      this.#world.within(this.#observer, () => this.#compare(seen));
    }
  }

  #compare(seen: Seen): void {
    const path = dataPath(rootPath as Root, seen.hash, seen.threadId);
    try {
      const log = readLog(path);
      if (log.kind !== "thread") {
        if (seen.commits.length > 0)
          this.#auditor.fail(`${seen.threadId} can't be read: ${log.kind}`);
        return;
      }
      const isSame = log.steps.length === stepsOf(seen) && (log.end !== null) === hasEnded(seen);
      if (log.broken) this.#auditor.fail(`${seen.threadId} is broken: ${log.broken.reason}`);
      else if (!isSame)
        this.#auditor.fail(
          `${seen.threadId} is read with ${log.steps.length} steps${log.end ? " and an end" : ""}, not ${stepsOf(seen)}`,
        );
    } catch (error) {
      if (!isWorkflowError(error))
        this.#auditor.fail(`reading ${seen.threadId} threw ${String(error)}`);
    }
  }
}

const isOpen = (seen: Seen): boolean =>
  seen.isThere && seen.removal !== "done" && !hasEnded(seen) && seen.commits.length > 0;

/**
 * Replaces the clock and timers of bundles, which don't use the port, by the clock and timers of the world. Returns a
 * function that undoes this.
 */
function withTime(world: World): () => void {
  const { setTimeout, clearTimeout } = globalThis;
  const { now } = Date;
  type Cancel = (() => void) | undefined;
  Object.assign(globalThis, {
    setTimeout: (act: () => void, ms = 0): Cancel => system.clock.after(ms, act),
    clearTimeout: (cancel: Cancel) => cancel?.(),
  });
  Date.now = () => world.wall;
  return () => {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Date.now = now;
  };
}
