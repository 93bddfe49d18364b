import { dirname } from "node:path";
import { type EventRecord, knownEvent } from "../contract/event.ts";
import type { CallToPay, RootReservation, RootSpending } from "../contract/spending.ts";
import { noUsage, readUsage, totalTokens } from "../contract/usage.ts";
import { configPath, type Root } from "../disk/paths.ts";
import type { SpendingBook } from "../disk/spending.ts";
import { type FileLimits, readRootLimits, stricter } from "../project/limits.ts";
import { projectAt } from "../project/project.ts";
import type { Environment } from "../system/port.ts";
import { system } from "../system/system.ts";

/** The facts of a thread that determine its limits. */
export type Spender = { threadId: string; cwd: string | undefined; env: Environment };

/** One thread's spending under the limits of its storage root. */
export class ThreadSpending implements RootSpending {
  readonly #root: Root;
  readonly #book: SpendingBook;
  readonly #thread: Spender;
  /** The amount counted for each call, because a call may report its end twice. */
  readonly #counted = new Map<string, number>();
  #limits: FileLimits[] | null = null;
  #pending: Promise<unknown> = Promise.resolve();

  constructor(root: Root, book: SpendingBook, thread: Spender) {
    this.#root = root;
    this.#book = book;
    this.#thread = thread;
  }

  left(): number | null {
    const limits = stricter(this.#now());
    return Object.keys(limits).length === 0 ? null : this.#book.left(limits);
  }

  async reserve(call: CallToPay): Promise<RootReservation> {
    const files = this.#now();
    const reply = await this.#book.reserve(this.#thread.threadId, stricter(files), call);
    if (reply.kind !== "spent") return reply;
    const holder = files.find(({ limits }) => limits[reply.limit] === reply.amount);
    return { ...reply, file: holder?.file ?? configPath(this.#root) };
  }

  release(call: string): Promise<void> {
    return this.#book.release(call);
  }

  /** Counts the reports of a model call. */
  event(event: Omit<EventRecord, "seq" | "timestamp">): void {
    const known = knownEvent({ ...event, seq: 0, timestamp: 0 });
    if (known?.type === "llm_start") {
      this.#keep(this.#book.begin(this.#thread.threadId, known.payload.call_id));
    } else if (known?.type === "llm_usage" && known.payload.state !== "open") {
      const { call_id: call, cost_usd } = known.payload;
      const tokens = totalTokens(readUsage(known.payload.usage) ?? noUsage);
      const cost = typeof cost_usd === "number" && cost_usd >= 0 ? cost_usd : null;
      const before = this.#counted.get(call) ?? 0;
      this.#counted.set(call, cost ?? before);
      this.#keep(this.#book.end(call, { cost: cost && cost - before, tokens }));
    }
  }

  /** Resolves when all reported spending is stored. */
  async settled(): Promise<void> {
    await this.#pending;
  }

  // Ignore errors: a full disk must not fail a paid call, and the logs have the amounts too.
  #keep(work: Promise<void>): void {
    const kept = work.catch(() => undefined);
    this.#pending = Promise.all([this.#pending, kept]);
  }

  /** Returns the limits of each file; the last known limits while a file can't be read. */
  #now(): FileLimits[] {
    try {
      this.#limits = limitsOf(this.#root, this.#thread);
    } catch (error) {
      if (this.#limits === null) throw error;
    }
    return this.#limits;
  }
}

/** Returns the limits of a thread: the limits of the storage root, and of a project with this root. */
function limitsOf(root: Root, { cwd, env }: Spender): FileLimits[] {
  const folders = [dirname(root), ...(cwd === undefined ? [] : [cwd])];
  const projects = folders.flatMap((folder) => projectAt(folder, env) ?? []);
  const own = configPath(root);
  return [
    { file: own, limits: readRootLimits(own) },
    ...projects.filter((project) => isSame(project.root, root)),
  ];
}

function isSame(one: string, other: string): boolean {
  if (one === other) return true;
  const found = system.files.stat(one);
  return found !== null && found.ino === system.files.stat(other)?.ino;
}
