import { writeFileAtomic } from "@uncaged/workflow/host";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What a chat is in the middle of; it survives a restart. */
export type ChatState = {
  /** The planner's session that what is written next belongs to. */
  session: string | null;
  /** The plan whose confirmation was asked for last. */
  asked: Asked | null;
  /** The ids of the messages that were taken last. */
  taken: string[];
};

/** A plan as it was shown, and what is wanted of it: an answer, or what is to change. */
export type Asked = {
  workflowId: string;
  planHash: string;
  at: number;
  wants: "answer" | "change";
};

/** How long a plain answer to a confirmation counts. */
export const answerMs = 10 * 60_000;
const mostTaken = 200;
const rate = { messages: 10, ms: 60_000 };

/** One conversation: its messages are handled one after the other. */
export class Chat {
  readonly jid: string;
  readonly #path: string;
  readonly #recent: number[] = [];
  #work: Promise<void> = Promise.resolve();
  #state: ChatState;

  /** Chats are kept in a folder, each in a file of its own. */
  constructor({ channel, folder, jid }: { channel: string; folder: string; jid: string }) {
    this.jid = jid;
    const name = createHash("sha256").update(`${channel} ${jid}`).digest("hex").slice(0, 24);
    this.#path = join(folder, `chat_${name}.json`);
    this.#state = { session: null, asked: null, taken: [], ...readState(this.#path) };
  }

  get state(): Readonly<ChatState> {
    return this.#state;
  }

  /** Changes what the chat is in the middle of. */
  set(change: Partial<ChatState>): void {
    this.#state = { ...this.#state, ...change };
    writeState(this.#path, this.#state);
  }

  /** Whether a message is new; it is then taken. */
  take(id: string | undefined): boolean {
    if (id === undefined) return true;
    const { taken } = this.#state;
    if (taken.includes(id)) return false;
    this.set({ taken: [...taken, id].slice(-mostTaken) });
    return true;
  }

  /** Counts a message; gives how many came within the last minute, with those that were refused. */
  count(now: number): { isTooMany: boolean; isFirstTooMany: boolean } {
    const recent = [...this.#recent, now].filter((at) => at > now - rate.ms);
    this.#recent.splice(0, this.#recent.length, ...recent);
    const over = recent.length - rate.messages;
    return { isTooMany: over > 0, isFirstTooMany: over === 1 };
  }

  /** Does something after all that came before it. */
  next(work: () => Promise<void>): void {
    this.#work = this.#work.then(work, work);
  }

  /** Resolves when all that has come is done. */
  idle(): Promise<void> {
    return this.#work;
  }
}

function readState(path: string): Partial<ChatState> {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Partial<ChatState>;
  } catch {
    // A chat that is new, or whose file is damaged, begins anew.
    return {};
  }
}

function writeState(path: string, state: ChatState): void {
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
  writeFileAtomic(path, `${JSON.stringify(state)}\n`);
}
