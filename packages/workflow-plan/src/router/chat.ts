import { writeFileAtomic } from "@uncaged/workflow/internal";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { NewMessage, Sent } from "../channel/channel.ts";
import { terminalJid } from "../channel/terminal.ts";

/** What a chat is in the middle of; it survives a restart. */
export type ChatState = {
  /** The planner's session that what is written next belongs to. */
  session: string | null;
  /** The plan whose confirmation was asked for last. */
  asked: Asked | null;
  /** The questions that were asked last, by what each is about. */
  questions: Record<string, Question>;
  /** The ids of the messages that were handled last. */
  taken: string[];
  /** The messages that came and are not handled yet, in their order. */
  waiting: NewMessage[];
};

/** A plan as it was shown, and what is wanted of it: an answer, or what is to change. */
export type Asked = {
  workflowId: string;
  planHash: string;
  at: number;
  wants: "answer" | "change";
};

/** A question of a chat. An order of null: it was not shown, or its place is unknown. */
export type Question = Sent & {
  /** Of the plan that was shown. */
  planHash?: string;
  /** What the planner asked. */
  text?: string;
};

/**
 * What a message is to a question: its answer, written before it, a reply to another message, without a place in the
 * chat's order, or to a question that this chat was not asked.
 */
export type Standing = "answer" | "early" | "elsewhere" | "unordered" | "unasked";

/**
 * What a message is to a question. Only the places in the chat's own order are compared, never a clock of this machine; a
 * reply to the question's last message comes after it in any case.
 */
export function standingOf({ metadata, replyTo }: NewMessage, question?: Question): Standing {
  if (!question) return "unasked";
  const { ids, order } = question;
  if (replyTo !== undefined && replyTo === ids.at(-1)) return "answer";
  if (order === null) return "unasked";
  if (replyTo !== undefined && !ids.includes(replyTo)) return "elsewhere";
  if (metadata?.order === undefined) return "unordered";
  return metadata.order > order ? "answer" : "early";
}

/** How long a plain answer to a confirmation counts. */
export const answerMs = 10 * 60_000;
const mostTaken = 200;
const mostQuestions = 100;
const rate = { messages: 10, ms: 60_000 };

/**
 * One conversation: its messages are handled one after the other. A message with an id is kept before it is acknowledged to its
 * platform, and until it is handled: after a crash it is handled by the next process, and what comes twice is
 * handled once.
 */
export class Chat {
  readonly jid: string;
  readonly #channel: string;
  readonly #path: string;
  readonly #recent: number[] = [];
  #work: Promise<void> = Promise.resolve();
  #state: ChatState;

  /** Chats are kept in a folder, each in a file of its own. */
  constructor({ channel, folder, jid }: { channel: string; folder: string; jid: string }) {
    this.jid = jid;
    const name = createHash("sha256").update(`${channel} ${jid}`).digest("hex").slice(0, 24);
    this.#channel = channel;
    this.#path = join(folder, `chat_${name}.json`);
    const fresh = { session: null, asked: null, questions: {}, taken: [], waiting: [] };
    this.#state = { ...fresh, ...readState(this.#path) };
    // The places are those of another terminal, and this one has shown nothing yet.
    if (jid === terminalJid) this.#state.questions = {};
  }

  get state(): Readonly<ChatState> {
    return this.#state;
  }

  /** Changes what the chat is in the middle of. */
  set(change: Partial<ChatState>): void {
    this.#state = { ...this.#state, ...change };
    mkdirSync(join(this.#path, ".."), { recursive: true, mode: 0o700 });
    const { jid } = this;
    writeFileAtomic(
      this.#path,
      `${JSON.stringify({ channel: this.#channel, jid, ...this.#state })}\n`,
    );
  }

  /** Keeps a question, in place of the one before about the same. */
  ask(about: string, question: Question, change: Partial<ChatState> = {}): void {
    const { [about]: _, ...others } = this.#state.questions;
    const kept = Object.entries(others).slice(1 - mostQuestions);
    this.set({ ...change, questions: { ...Object.fromEntries(kept), [about]: question } });
  }

  /** Keeps that a question was repeated: its place stays, and the repetition can be replied to as well. */
  remind(about: string, { ids, order }: Sent): void {
    const { [about]: known } = this.#state.questions;
    const all = [...(known?.ids ?? []), ...ids];
    this.ask(about, { ...known, ids: all, order: known?.order ?? order });
  }

  /** What a message is to the question about something. */
  standing(message: NewMessage, about: string): Standing {
    return standingOf(message, this.#state.questions[about]);
  }

  /** Whether a message came before. One without an id, as the terminal's, never did. */
  knows({ metadata }: NewMessage): boolean {
    const { taken, waiting } = this.#state;
    const id = metadata?.id;
    return (
      id !== undefined && (taken.includes(id) || waiting.some((one) => one.metadata?.id === id))
    );
  }

  /** Keeps a message until it is handled, also over a crash. */
  keep(message: NewMessage): void {
    if (message.metadata?.id !== undefined)
      this.set({ waiting: [...this.#state.waiting, message] });
  }

  /** Marks a message as handled: it will not be again. */
  settle({ metadata }: NewMessage): void {
    const { taken, waiting } = this.#state;
    const id = metadata?.id;
    if (id === undefined || taken.includes(id)) return;
    const others = waiting.filter((one) => one.metadata?.id !== id);
    this.set({ taken: [...taken, id].slice(-mostTaken), waiting: others });
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

/** The ids of a channel's chats that have messages which were not handled. */
export function waitingChats(folder: string, channel: string): string[] {
  const names = listed(folder).filter((name) => /^chat_\w+\.json$/.test(name));
  return names.flatMap((name) => {
    const kept = readState(join(folder, name)) as Partial<
      ChatState & { channel: string; jid: string }
    >;
    const isWaiting = kept.channel === channel && (kept.waiting?.length ?? 0) > 0;
    return isWaiting && kept.jid !== undefined ? [kept.jid] : [];
  });
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
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
