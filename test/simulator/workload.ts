import { putBundle } from "../../packages/workflow/src/bundle/store.ts";
import { isWorkflowError } from "../../packages/workflow/src/contract/error.ts";
import type { Host } from "../../packages/workflow/src/host/host.ts";
import { openLocalHost } from "../../packages/workflow/src/local/host.ts";
import { changeRegistry } from "../../packages/workflow/src/registry/change.ts";
import { register } from "../../packages/workflow/src/registry/versions.ts";
import { registerBundle } from "../../packages/workflow/src/local/workflows.ts";
import { openRoot } from "../../packages/workflow/src/disk/root.ts";
import { system } from "../../packages/workflow/src/system/system.ts";
import type { Auditor } from "./auditor.ts";
import { descriptor, type Params, rootPath, type Version, versions } from "./programs.ts";
import type { Random } from "../../packages/workflow/src/chaos/random.ts";
import { Ended, type World } from "./world.ts";

export type ThreadRef = { hash: string; threadId: string };

/** Scope of the load: all commands, or only starts of threads, with the start and the idle exit of workers. */
export type Scope = "all" | "workers";

/** Shared state of a simulation's clients: the known threads. */
export class Workload {
  readonly world: World;
  readonly auditor: Auditor;
  readonly random: Random;
  readonly scope: Scope;
  readonly known: ThreadRef[] = [];
  /** Commands without a reply until now. */
  readonly pending = new Set<string>();
  /** Thread ids chosen by clients. Several clients may use the same id. */
  readonly #ids: readonly string[];

  constructor(world: World, auditor: Auditor, random: Random, scope: Scope) {
    this.world = world;
    this.auditor = auditor;
    this.random = random;
    this.scope = scope;
    this.#ids = ["A", "B"].map((letter) => `01M${letter}${"0".repeat(22)}`);
  }

  /** Runs an action in a process, which then exits. */
  client(name: string, delayMs: number, act: () => Promise<void>): void {
    const { world } = this;
    const process = world.start("client", name, delayMs, () => {
      const done = act().catch((error: unknown) => {
        if (process.alive && !isOf(error, Ended))
          this.auditor.fail(`${name} threw: ${String(error)}`);
      });
      void done.then(() => world.end(process, 0));
    });
  }

  /** Returns a client that runs some commands in sequence. */
  commands(count: number): () => Promise<void> {
    const { random } = this;
    const table = this.scope === "workers" ? workersTable : fullTable;
    const drawn = Array.from({ length: count }, () => ({
      command: random.pick(table),
      pauseMs: random.around(60),
    }));
    return async () => {
      for (const { command, pauseMs } of drawn) {
        await this.ask(command.name, () => command(this));
        await system.clock.sleep(pauseMs);
      }
    };
  }

  /** Runs one command. A `WorkflowError` is a valid reply. */
  async ask<T>(what: string, act: () => Promise<T>): Promise<T | null> {
    const key = `${what} of ${this.world.current?.name}`;
    const { current } = this.world;
    this.pending.add(key);
    current?.onEnd.push(() => this.pending.delete(key));
    try {
      return await act();
    } catch (error) {
      if (isOf(error, Ended) || !current?.alive) throw error;
      if (!isWorkflowError(error))
        this.auditor.fail(`${what} threw an error that is not for users: ${String(error)}`);
      this.world.note(`${what} failed: ${isWorkflowError(error) ? error.code : "?"}`);
      return null;
    } finally {
      this.pending.delete(key);
    }
  }

  host(): Host {
    return openLocalHost({ path: rootPath });
  }

  thread(): ThreadRef | null {
    return this.known.length === 0 ? null : this.random.pick(this.known);
  }

  params(): Params {
    const { random, scope } = this;
    const count = scope === "workers" ? 1 : 1 + random.below(4);
    const asks = scope === "all" && random.chance(0.4) ? 1 + random.below(2) : 0;
    // An answer is the record after its question.
    const first = random.below(count);
    const asksAt = Array.from({ length: asks }, (_, n) => first + 2 * n);
    const pauseMs = random.pick([0, 0, random.around(20), random.around(200)]);
    const retries = scope === "all" && asks === 0 && random.chance(0.3);
    return {
      count: count + 2 * asks,
      asksAt,
      pauseMs,
      ...random.pick([
        {},
        {},
        {},
        { expiresMs: 5_000 },
        { expiresMs: random.around(500), sleeps: true },
      ]),
      ...(random.chance(0.15) && { readsLock: true }),
      ...(retries && { backoffMs: random.pick([0, random.around(300), 20_000]) }),
    };
  }

  id(): string {
    return this.random.pick(this.#ids);
  }

  learn({ hash, threadId }: ThreadRef): void {
    if (!this.known.some((one) => one.threadId === threadId)) this.known.push({ hash, threadId });
  }
}

/** Whether an error or one of its causes is of a kind. */
export function isOf(error: unknown, kind: typeof Ended): boolean {
  for (let one = error; one instanceof Error; one = one.cause) if (one instanceof kind) return true;
  return false;
}

type Command = (work: Workload) => Promise<void>;
const surroundings = { cwd: "/home/user", env: { HOME: "/home/user" } };

/** Registers a version, like the part of `add` after the check of the file. */
export async function add({ auditor }: Workload, { name, hash, text }: Version): Promise<void> {
  const root = openRoot({ path: rootPath });
  await registerBundle(root, name, Buffer.from(text), { descriptor });
  auditor.versions.push({ name, hash });
  auditor.registered();
}

/** Restores a bundle whose file is damaged. */
export async function restore({ text }: Version): Promise<void> {
  await putBundle(openRoot({ path: rootPath }), Buffer.from(text), { descriptor });
}

const addAny: Command = (work) => add(work, work.random.pick(versions.slice(0, 3)));

/** Registers a name and holds the registry's lock for some time. */
const addSlowly: Command = async ({ random, auditor }) => {
  const { hash } = versions[0] as Version;
  const name = `delta${random.below(100)}`;
  await changeRegistry(openRoot({ path: rootPath }), async (registry) => {
    await system.clock.sleep(random.around(10));
    return register(registry, name, hash, system.clock.now());
  });
  auditor.versions.push({ name, hash });
  auditor.registered();
};

const start: Command = (work) => startOf(work, workflowOf(work.random));

async function startOf(work: Workload, workflow: string): Promise<void> {
  const { random, auditor } = work;
  const isUnsynced = random.chance(0.05);
  const started = await work.host().start({
    workflow,
    prompt: "go",
    params: work.params(),
    options: isUnsynced ? { unsynced: true } : {},
    ...(isUnsynced && { durability: "os" as const }),
    ...surroundings,
  });
  auditor.started(started.threadId);
  work.learn(started);
}

const workflowOf = (random: Random): string =>
  random.chance(0.7) ? random.pick(["alpha", "beta"]) : random.pick(versions.slice(0, 3)).hash;

/** Starts a thread of any version with an id that the client chose, even when other clients use the same id. */
const startWithId: Command = async (work) => {
  const threadId = work.id();
  const started = await work.host().start({
    workflow: workflowOf(work.random),
    threadId,
    params: work.params(),
    ...surroundings,
  });
  work.auditor.started(started.threadId);
  work.learn(started);
};

const onThread = (
  act: (work: Workload, ref: ThreadRef) => Promise<void>,
  name: string,
): Command => {
  const command: Command = async (work) => {
    const ref = work.thread();
    await (ref ? act(work, ref) : start(work));
  };
  return Object.defineProperty(command, "name", { value: name });
};

const resume = onThread(async (work, ref) => {
  await work.host().control(ref, { kind: "resume", env: {} });
}, "resume");

const pause = onThread(async (work, ref) => {
  await work.host().control(ref, { kind: "pause" });
}, "pause");

const kill = onThread(async (work, ref) => {
  await work.host().control(ref, { kind: "kill", force: work.random.chance(0.3), env: {} });
  work.auditor.killed(ref.threadId);
}, "kill");

/** Answers a question. Repeats the answer with the same request id if the first answer was not acknowledged. */
export async function giveAnswer(work: Workload, ref: ThreadRef, requestId: string): Promise<void> {
  const input = { content: "this", meta: { requestId } };
  await work.host().control(ref, { kind: "answer", input, env: {} });
  work.auditor.answered(ref.threadId, requestId);
}

const answer = onThread(async (work, ref) => {
  const requestId = `r${work.random.below(2)}`;
  await work.ask("answer", () => giveAnswer(work, ref, requestId));
  if (work.random.chance(0.5)) await work.ask("answer", () => giveAnswer(work, ref, requestId));
}, "answer");

/** Wakes due threads. The log of each woken thread must show the wake-up. */
const wake: Command = async (work) => {
  const { woken } = await work.host().wake({ env: {} });
  for (const { threadId } of woken) work.auditor.woken(threadId);
};

const fork = onThread(async (work, ref) => {
  const { random } = work;
  const keep = random.chance(0.5) ? undefined : { atStep: random.below(3) };
  const on = random.chance(0.3) ? random.pick(versions.slice(0, 3)).hash : undefined;
  const forked = await work.host().fork(ref, { env: {}, keep, on });
  work.auditor.started(forked.threadId);
  work.learn(forked);
}, "fork");

const remove = onThread(async (work, ref) => {
  if (ref.threadId.startsWith("01MA0") || ref.threadId.startsWith("01MB0")) return;
  work.auditor.asksRemoval(ref.threadId);
  await work.host().remove(ref, { force: work.random.chance(0.7) });
  work.auditor.removed(ref.threadId);
}, "remove");

const rollback: Command = async (work) => {
  await work.host().rollback("alpha");
};

/** Adds and removes a workflow, so that only its threads keep its bundle. */
const comeAndGo: Command = async (work) => {
  const gamma = versions[3] as Version;
  await work.ask("add", async () => {
    await registerBundle(openRoot({ path: rootPath }), gamma.name, Buffer.from(gamma.text), {
      descriptor,
    });
  });
  const leave = async () => {
    await work.ask("unregister", () => work.host().unregister(gamma.name));
    await system.clock.sleep(work.random.around(10));
    await work.ask("collect", () => collect(work));
  };
  await Promise.all([work.ask("start", () => startOf(work, gamma.hash)), leave()]);
};

const collect: Command = async (work) => {
  const days = work.random.below(3);
  await work.host().collect({ now: system.clock.now() + days * 86_400_000 });
};

const look: Command = async (work) => {
  const host = work.host();
  await host.threads();
  await host.live();
  const ref = work.thread();
  if (!ref) return;
  const view = await host.read(ref);
  work.auditor.read(
    ref.threadId,
    view.steps.length,
    view.status === "completed" || view.status === "killed",
  );
};

/** Follows a thread for a while. Checks that each step arrives once and in order. */
const follow = onThread(async (work, ref) => {
  const late = new AbortController();
  const cancel = system.clock.after(work.random.around(400), () => late.abort());
  let steps = 0;
  for await (const item of work.host().observe(ref, undefined, { signal: late.signal })) {
    if (item.kind === "step") {
      steps += 1;
      if (item.number !== steps)
        work.auditor.fail(
          `a follower of ${ref.threadId} got step ${item.number} at position ${steps}`,
        );
    }
    if (item.kind === "step" || item.kind === "end")
      work.auditor.read(ref.threadId, steps, item.kind === "end");
  }
  cancel();
}, "follow");

const often = (times: number, command: Command): Command[] => Array<Command>(times).fill(command);

const fullTable: readonly Command[] = [
  ...often(6, start),
  ...often(4, startWithId),
  ...often(5, resume),
  ...often(3, answer),
  ...often(3, fork),
  ...often(2, follow),
  ...often(2, wake),
  ...often(2, look),
  ...often(2, kill),
  ...often(1, pause),
  ...often(1, remove),
  ...often(1, addAny),
  ...often(1, rollback),
  ...often(1, collect),
  ...often(2, comeAndGo),
  ...often(2, addSlowly),
];

const workersTable: readonly Command[] = [
  ...often(5, start),
  ...often(3, startWithId),
  ...often(2, resume),
  ...often(1, kill),
];
