import { writeFileAtomic } from "@uncaged/workflow/internal";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { NewMessage, Sent } from "../channel/channel.ts";
import { terminalJid } from "../channel/terminal.ts";

/** The stored state of a chat, which survives a restart. */
export type ChatState = {
  /** The planner's session that receives the next text. */
  session: string | null;
  /** The plan in the last request for a confirmation. */
  asked: Asked | null;
  /** The last questions, by their topics. */
  questions: Record<string, Question>;
  /** The ids of the most recently handled messages. */
  taken: string[];
  /** The received messages that are not handled yet, in order. */
  waiting: NewMessage[];
};

/** A plan as it was shown, and the expected input: an answer, or a change. */
export type Asked = {
  workflowId: string;
  planHash: string;
  at: number;
  wants: "answer" | "change";
};

/** A question of a chat. A null order means that the question was not shown, or that its place is unknown. */
export type Question = Sent & {
  /** The hash of the shown plan. */
  planHash?: string;
  /** The text of the planner's question. */
  text?: string;
};

/**
 * The relation of a message to a question: its answer; written before the question; a reply to another message; without
 * a place in the chat's order; or about a question that this chat was not asked.
 */
export type Standing = "answer" | "early" | "elsewhere" | "unordered" | "unasked";

/**
 * Returns the relation of a message to a question. Compares only places in the chat's order, never this machine's
 * clock. A reply to the question's last message always comes after the question.
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

/** Time during which a plain answer to a confirmation is valid, in milliseconds. */
export const answerMs = 10 * 60_000;
const mostTaken = 200;
const mostQuestions = 100;
const rate = { messages: 10, ms: 60_000 };

/**
 * One conversation, which handles one message at a time. A message with an id is stored before the platform gets its
 * acknowledgment, until the message is handled. So after a crash the next process handles the message, and a repeated
 * message is handled once.
 */
export class Chat {
  readonly jid: string;
  readonly #channel: string;
  readonly #path: string;
  readonly #recent: number[] = [];
  #work: Promise<void> = Promise.resolve();
  #state: ChatState;

  /** Opens a chat. `folder` contains one file for each chat. */
  constructor({ channel, folder, jid }: { channel: string; folder: string; jid: string }) {
    this.jid = jid;
    const name = createHash("sha256").update(`${channel} ${jid}`).digest("hex").slice(0, 24);
    this.#channel = channel;
    this.#path = join(folder, `chat_${name}.json`);
    const fresh = { session: null, asked: null, questions: {}, taken: [], waiting: [] };
    this.#state = { ...fresh, ...readState(this.#path) };
    // The places belong to another terminal, and this terminal has not shown a question yet.
    if (jid === terminalJid) this.#state.questions = {};
  }

  get state(): Readonly<ChatState> {
    return this.#state;
  }

  /** Changes the state of the chat. */
  set(change: Partial<ChatState>): void {
    this.#state = { ...this.#state, ...change };
    mkdirSync(join(this.#path, ".."), { recursive: true, mode: 0o700 });
    const { jid } = this;
    writeFileAtomic(
      this.#path,
      `${JSON.stringify({ channel: this.#channel, jid, ...this.#state })}\n`,
    );
  }

  /** Stores a question, and replaces the previous question on the same topic. */
  ask(about: string, question: Question, change: Partial<ChatState> = {}): void {
    const { [about]: _, ...others } = this.#state.questions;
    const kept = Object.entries(others).slice(1 - mostQuestions);
    this.set({ ...change, questions: { ...Object.fromEntries(kept), [about]: question } });
  }

  /** Stores the repetition of a question: its place stays, and replies to the repetition also count. */
  remind(about: string, { ids, order }: Sent): void {
    const { [about]: known } = this.#state.questions;
    const all = [...(known?.ids ?? []), ...ids];
    this.ask(about, { ...known, ids: all, order: known?.order ?? order });
  }

  /** Returns the relation of a message to the question on a topic. */
  standing(message: NewMessage, about: string): Standing {
    return standingOf(message, this.#state.questions[about]);
  }

  /**
   * Tells whether a message was received before. A message without an id, such as a line of the terminal, counts as
   * new.
   */
  knows({ metadata }: NewMessage): boolean {
    const { taken, waiting } = this.#state;
    const id = metadata?.id;
    return (
      id !== undefined && (taken.includes(id) || waiting.some((one) => one.metadata?.id === id))
    );
  }

  /** Stores a message until it is handled, even after a crash. */
  keep(message: NewMessage): void {
    if (message.metadata?.id !== undefined)
      this.set({ waiting: [...this.#state.waiting, message] });
  }

  /** Marks a message as handled. */
  settle({ metadata }: NewMessage): void {
    const { taken, waiting } = this.#state;
    const id = metadata?.id;
    if (id === undefined || taken.includes(id)) return;
    const others = waiting.filter((one) => one.metadata?.id !== id);
    this.set({ taken: [...taken, id].slice(-mostTaken), waiting: others });
  }

  /**
   * Counts a message. Compares the number of messages within the last minute, including refused messages, to the limit.
   */
  count(now: number): { isTooMany: boolean; isFirstTooMany: boolean } {
    const recent = [...this.#recent, now].filter((at) => at > now - rate.ms);
    this.#recent.splice(0, this.#recent.length, ...recent);
    const over = recent.length - rate.messages;
    return { isTooMany: over > 0, isFirstTooMany: over === 1 };
  }

  /** Runs `work` after all earlier work of the chat. */
  next(work: () => Promise<void>): void {
    this.#work = this.#work.then(work, work);
  }

  /** Resolves when all earlier work is done. */
  idle(): Promise<void> {
    return this.#work;
  }
}

/** Returns the ids of a channel's chats with unhandled messages. */
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
    // A chat without a readable file starts empty.
    return {};
  }
}
