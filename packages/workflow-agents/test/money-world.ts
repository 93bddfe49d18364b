import { AsyncLocalStorage } from "node:async_hooks";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Attempt } from "@uncaged/workflow/records";
import { type Bundle, createRoleModerator, END, type Step, type Usage } from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { z } from "zod";
import { StackMapper } from "../../workflow/src/bundle/stack.ts";
import { noMask } from "../../workflow/src/contract/mask.ts";
import type { StartRequest } from "../../workflow/src/control/control.ts";
import { readLog, type ThreadLog } from "../../workflow/src/disk/log.ts";
import { dataPath, infoPath, journalPath, type Root } from "../../workflow/src/disk/paths.ts";
import { createRoot, openRoot } from "../../workflow/src/disk/root.ts";
import { sharedIn } from "../../workflow/src/disk/shared-values.ts";
import { DiskStore } from "../../workflow/src/disk/store.ts";
import { killed } from "../../workflow/src/engine/ending.ts";
import { readAttempts } from "../../workflow/src/local/threads/events.ts";
import { textOf } from "../../workflow/src/record/record.ts";
import type { Claim } from "../../workflow/src/store/store.ts";
import type { Files } from "../../workflow/src/system/port.ts";
import { realSystem } from "../../workflow/src/system/real.ts";
import { useSystem } from "../../workflow/src/system/system.ts";
import { recordEvents } from "../../workflow/src/worker/context.ts";
import { prepareThread } from "../../workflow/src/worker/create.ts";
import { engineFor } from "../../workflow/src/worker/drive.ts";
import { InfoLog } from "../../workflow/src/worker/info.ts";
import { JournalReader } from "../../workflow/src/worker/journal-reader.ts";
import { asTool, describe, modelAgent, role, tool, toolRegistry } from "../src/entry/index.ts";
import type { ModelAnswer, ModelProvider, ModelRequest } from "../src/llm/provider.ts";

/*
 * Runs threads whose roles call scripted models, with the real engine on real files, in this process. Counts the
 * actions of each simulated worker. After a simulated crash, the worker's system calls throw and its waits never end.
 */

export const hash = "C9NMV6V2TQT81";

/** A simulated worker that crashes after `left` actions. */
export class Life {
  left: number;
  isDead = false;
  readonly died: Promise<"died">;
  #die: (end: "died") => void = () => undefined;

  constructor(left: number) {
    this.left = left;
    this.died = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  /** Counts an action. Returns whether the worker still runs. */
  act(): boolean {
    if (!this.isDead && (this.left -= 1) < 0) {
      this.isDead = true;
      this.#die("died");
    }
    return !this.isDead;
  }
}

const lives = new AsyncLocalStorage<Life>();
const never = new Promise<never>(() => undefined);

/** Counts an action of the current worker. Never resolves if the worker has crashed. */
async function act(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (lives.getStore()?.act() === false) await never;
}

const changing: (keyof Files)[] = ["open", "write", "truncate", "syncData", "rename", "remove"];

/** Installs the real system, except that the system calls of a crashed worker throw and no file is synced. */
export function useMortalSystem(): void {
  const files = { ...realSystem.files } as Record<string, (...given: never[]) => unknown>;
  for (const [name, call] of Object.entries(files)) {
    const isAct = changing.includes(name as keyof Files);
    const isSync = name.startsWith("sync");
    files[name] = (...given) => {
      const life = lives.getStore();
      const isThere = isAct ? life?.act() : !life?.isDead;
      if (life && isThere === false && name !== "close") throw new Error("the worker is dead");
      if (isSync) return name === "syncDataLater" ? Promise.resolve() : undefined;
      return call(...given);
    };
  }
  useSystem({ ...realSystem, files: files as unknown as Files });
  recordEvents();
}

export const useRealSystem = (): void => void useSystem(realSystem);

/** One turn of a model: its tool calls and its usage. */
export type Turn = {
  calls: { tool: "work" | "approved" | "nested"; n: number }[];
  usage: Usage;
  /** The usage that the provider reports before the end of the answer, or null. */
  early: Usage | null;
};

export type Plan = { roles: { name: string; turns: Turn[] }[]; nested: Turn[] };

/** One model call as its service recorded it. */
export type Served = { reported: Usage; isAnswered: boolean };

const text = { early: null, calls: [] };
export const usageOf = (input: number, output: number): Usage => ({
  ...noUsage,
  input_tokens: input,
  output_tokens: output,
});
export const plain = (input: number, output: number): Turn => ({
  ...text,
  usage: usageOf(input, output),
});

const model = "claude-sonnet-5-5";

export class World {
  readonly root: Root;
  readonly served: Served[] = [];
  /** The number of executions of each tool call. */
  readonly done = new Map<string, number>();
  readonly #folder = mkdtempSync(join(tmpdir(), "money-"));
  readonly #bundle: Bundle;

  constructor(plan: Plan) {
    this.root = openRoot({ path: join(this.#folder, "root") });
    createRoot(this.root);
    this.#bundle = bundleOf(plan, this);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Starts a thread, or forks one with all its steps. */
  async create(threadId: string, options: Record<string, unknown>, of?: string): Promise<void> {
    const request = {
      ...{ threadId, workflow: "money", prompt: "go", env: {}, maxRounds: 100, options },
      ...(of !== undefined && {
        fork: { hash, threadId: of, keep: { first: this.steps(of).length } },
      }),
    } as StartRequest;
    const store = this.#store();
    await store.create((await prepareThread(store, hash, request)).thread);
    await store.close();
  }

  // A crashed worker has not released its claims, so each worker opens its own store.
  #store = (): DiskStore => new DiskStore(this.root, { lockedHash: hash });

  /**
   * Drives a thread until the thread ends, its worker crashes, or its worker exits while the thread waits. If the
   * worker does not exit, a person approves the call or kills the thread.
   */
  async drive(
    threadId: string,
    { left = Number.POSITIVE_INFINITY, exits = () => true, kills = () => false }: Driving = {},
  ): Promise<"died" | "waiting" | "ended"> {
    const life = new Life(left);
    try {
      return await lives.run(life, () => this.#drive(life, threadId, { exits, kills }));
    } catch (error) {
      if (life.isDead) return "died";
      throw error;
    }
  }

  async #drive(
    life: Life,
    threadId: string,
    { exits, kills }: Required<Omit<Driving, "left">>,
  ): Promise<"died" | "waiting" | "ended"> {
    const store = this.#store();
    const claim = await store.claim({ hash, threadId }, { owner: "test", leaseMs: 1e9 });
    if (!claim) throw new Error(`${threadId} is claimed`);
    if (claim.end) {
      await store.close();
      return "ended";
    }
    const info = new InfoLog(claim, noMask);
    let isWaiting = Promise.withResolvers<void>();
    const { engine } = engineFor({
      ...{ store, claim, bundle: this.#bundle, info, mask: noMask, env: {} },
      place: {
        shared: sharedIn(this.root),
        worktrees: () => join(this.#folder, "worktrees"),
        stacks: StackMapper.of(this.root, hash),
      },
      options: { cwd: this.#folder },
      journal: { reader: await JournalReader.open(store, claim), old: async () => [] },
      onWait: () => isWaiting.resolve(),
    });
    const close = async () => {
      info.close();
      await claim.release();
      await store.close();
    };
    engine.start();
    for (;;) {
      const state = await Promise.race([
        life.died,
        engine.done.then(({ kind }) => kind),
        isWaiting.promise.then(() => "waiting" as const),
      ]);
      if (life.isDead || state === "died") return "died";
      if (state !== "waiting") {
        await close();
        if (life.isDead) return "died";
        if (state === "ended") return "ended";
        throw new Error(`the thread was ${state}`);
      }
      isWaiting = Promise.withResolvers();
      if (engine.status !== "waiting") continue;
      if (kills()) {
        await engine.kill();
        continue;
      }
      if (exits()) {
        await engine.release();
        await close();
        return life.isDead ? "died" : "waiting";
      }
      await engine.answer({ content: "yes", value: true });
    }
  }

  /** Answers a thread that waits without a worker, and drives the thread as {@link drive} does. */
  async answer(threadId: string, driving: Driving = {}): Promise<"died" | "waiting" | "ended"> {
    let isAnswered = false;
    const { exits = () => true } = driving;
    return await this.drive(threadId, {
      ...driving,
      exits: () => {
        if (isAnswered) return exits();
        isAnswered = true;
        return false;
      },
    });
  }

  /** Kills a thread that has no worker. */
  async kill(threadId: string): Promise<void> {
    const store = this.#store();
    const claim = (await store.claim({ hash, threadId }, { owner: "", leaseMs: 1e9 })) as Claim;
    await claim.append(textOf(killed(Date.now())), { kind: "ended" });
    await store.close();
  }

  log(threadId: string): ThreadLog {
    const log = readLog(dataPath(this.root, hash, threadId));
    if (log.kind !== "thread" || log.broken) throw new Error(`the log of ${threadId} is damaged`);
    return log;
  }

  steps(threadId: string): Step[] {
    return this.log(threadId).steps;
  }

  async attempts(threadId: string): Promise<readonly Attempt[]> {
    const nobody = { find: async () => null } as unknown as Parameters<typeof readAttempts>[2];
    return await readAttempts(this.root, { hash, threadId }, nobody);
  }

  info = (threadId: string): string => infoPath(this.root, hash, threadId);
  journal = (threadId: string): string => journalPath(this.root, hash, threadId);
}

export type Driving = {
  /** The number of actions after which the worker crashes. */
  left?: number;
  /** Whether the worker exits while its thread waits. */
  exits?: () => boolean;
  /** Whether a person kills the waiting thread. */
  kills?: () => boolean;
};

function providerOf(turns: readonly Turn[], { served }: World): ModelProvider {
  return {
    name: "the script",
    async answer(request: ModelRequest, sink): Promise<ModelAnswer> {
      const nth = request.messages.filter(({ role: by }) => by === "assistant").length;
      const { calls, usage, early } = turns[nth] as Turn;
      const call: Served = { reported: noUsage, isAnswered: false };
      served.push(call);
      await act();
      if (early) {
        call.reported = early;
        sink.onUsage?.({ model, usage: early });
        await act();
      }
      call.reported = usage;
      call.isAnswered = true;
      const toolUses = calls.map(({ tool: name, n }, at) => ({
        id: `call_${nth}_${at}`,
        name,
        input: name === "nested" ? { message: String(n) } : { n },
      }));
      const said = calls.length > 0 ? `turn ${nth}` : "all done";
      return {
        ...{ id: "", model, text: said, thinking: "", toolUses, usage },
        blocks: [
          { type: "text", text: said },
          ...toolUses.map((use) => ({ type: "tool_use", ...use })),
        ],
        ...(calls.length > 0
          ? { stop: "tools" as const, finishReason: "tool_use" }
          : { stop: "end" as const, finishReason: "end_turn" }),
      };
    },
  };
}

function bundleOf({ roles, nested }: Plan, world: World): Bundle {
  const input = z.object({ n: z.number() });
  const made = (name: string, more: object = {}) =>
    tool({
      ...{ name, description: name, input, ...more },
      async execute({ n }) {
        await act();
        world.done.set(`${name} ${n}`, (world.done.get(`${name} ${n}`) ?? 0) + 1);
        await act();
        return `did ${n}`;
      },
    });
  const spec = (turns: readonly Turn[], tools: Parameters<typeof toolRegistry>[0]) => ({
    ...{ description: "works", systemPrompt: "Work.", schema: z.object({}) },
    agent: modelAgent(providerOf(turns, world), {
      ...{ model, maxTokens: 2000 },
      ...(tools.length > 0 && { tools: toolRegistry(tools) }),
    }),
  });
  const inner = role(spec(nested, [made("work")]));
  const tools = [
    made("work"),
    made("approved", { approve: true }),
    asTool(inner, { name: "nested" }),
  ];
  const all = Object.fromEntries(roles.map(({ name, turns }) => [name, role(spec(turns, tools))]));
  const run = createRoleModerator({
    roles: all,
    moderator: ({ steps }) => roles[steps.length]?.name ?? END,
  });
  return { run, descriptor: describe("Spends", all) };
}
