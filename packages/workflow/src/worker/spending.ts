import { dirname } from "node:path";
import { type EventRecord, knownEvent } from "../contract/event.ts";
import type { CallToPay, RootLimits, RootReservation, RootSpending } from "../contract/spending.ts";
import { noUsage, readUsage, totalTokens } from "../contract/usage.ts";
import { configPath, type Root } from "../disk/paths.ts";
import type { SpendingBook } from "../disk/spending.ts";
import { readRootLimits, stricter } from "../project/limits.ts";
import { projectAt } from "../project/project.ts";
import type { Environment } from "../system/port.ts";
import { system } from "../system/system.ts";

/** What a thread is, as far as its limits are concerned. */
export type Spender = { threadId: string; cwd: string | undefined; env: Environment };

/** What one thread spends of what its storage root may. */
export class ThreadSpending implements RootSpending {
  readonly #root: Root;
  readonly #book: SpendingBook;
  readonly #thread: Spender;
  /** What was counted for each call: one may report its end twice. */
  readonly #counted = new Map<string, number>();
  #limits: RootLimits | null = null;
  #pending: Promise<unknown> = Promise.resolve();

  constructor(root: Root, book: SpendingBook, thread: Spender) {
    this.#root = root;
    this.#book = book;
    this.#thread = thread;
  }

  left(): number | null {
    const limits = this.#now();
    return Object.keys(limits).length === 0 ? null : this.#book.left(limits);
  }

  reserve(call: CallToPay): Promise<RootReservation> {
    return this.#book.reserve(this.#thread.threadId, this.#now(), call);
  }

  release(call: string): Promise<void> {
    return this.#book.release(call);
  }

  /** Takes what a call of a model reports. */
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

  /** Resolves when all that was reported is kept. */
  async settled(): Promise<void> {
    await this.#pending;
  }

  // A full disk must not fail what was paid for: what is not kept is in the logs.
  #keep(work: Promise<void>): void {
    const kept = work.catch(() => undefined);
    this.#pending = Promise.all([this.#pending, kept]);
  }

  /** The limits as the files have them; while one can't be read, as they were. */
  #now(): RootLimits {
    try {
      this.#limits = limitsOf(this.#root, this.#thread);
    } catch (error) {
      if (this.#limits === null) throw error;
    }
    return this.#limits;
  }
}

/** The limits of a thread: those of the storage root, and of a project that has this root. */
function limitsOf(root: Root, { cwd, env }: Spender): RootLimits {
  const folders = [dirname(root), ...(cwd === undefined ? [] : [cwd])];
  const projects = folders.flatMap((folder) => projectAt(folder, env) ?? []);
  return stricter([
    readRootLimits(configPath(root)),
    ...projects.filter((project) => isSame(project.root, root)).map(({ limits }) => limits),
  ]);
}

function isSame(one: string, other: string): boolean {
  if (one === other) return true;
  const found = system.files.stat(one);
  return found !== null && found.ino === system.files.stat(other)?.ino;
}
