import { Bot, GrammyError, HttpError } from "grammy/web";
import { fetchWithinOrigin, RedirectError } from "@uncaged/workflow-agents/interpreter";
import { planHash } from "../plan/hash.ts";
import type { Workflow } from "../plan/plan.ts";
import {
  type Button,
  buttonText,
  type Channel,
  type ChannelOptions,
  ChannelRefusal,
  reasonOf,
  type Sent,
  waited,
} from "./channel.ts";
import { fieldsOf, textOf, wholeOf } from "./fields.ts";
import { botAccount, jidOf, jidPattern, messageIdIn, readUpdate } from "./telegram-update.ts";
import { markdownV2, messagesOf } from "./text.ts";
import { telegramTokenRejected } from "./errors.ts";

export type TelegramOptions = ChannelOptions & {
  token: string;
  /** The address of a Bot API server other than Telegram's. */
  apiRoot?: string;
  /** Waits before the next poll. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
};

const longestRetryAfterS = 60;
const mostTries = 3;
const stopMs = 5_000;
const firstRestartMs = 1_000;
const longestRestartMs = 300_000;
const buttons = { confirm: "Confirm", modify: "Modify", cancel: "Cancel" } as const;

const received = ["message", "edited_message", "callback_query"] as const;
const howToReply = "Reply to this message.";
/** The maximum number of moves of a group that a message follows. */
const mostMoves = 3;
/** The maximum number of updates in a response. */
const mostUpdates = 100;

type Extra = { reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] } };
type Place = { chat: number | string; topic?: number };

/** The Telegram channel: a bot that polls for its updates. */
export class TelegramChannel implements Channel {
  readonly name = "telegram";
  readonly #options: TelegramOptions;
  readonly #bot: Bot;
  readonly #closed = new AbortController();
  /** The ids of upgraded groups: old to new. */
  readonly #moved = new Map<string, string>();
  #isConnected = false;
  /** Whether all messages from before the start of this channel have been received. */
  #isCaughtUp = false;
  /** Whether the updates being handled are from before the start of this channel. */
  #isBacklog = false;
  #restartMs = firstRestartMs;

  constructor(options: TelegramOptions) {
    this.#options = options;
    const { apiRoot, token } = options;
    // Each URL contains the token.
    const own: typeof fetch = Object.assign(
      (url: Parameters<typeof fetch>[0], init?: RequestInit) =>
        fetchWithinOrigin(url instanceof Request ? url.url : url, { ...init, hasCredential: true }),
      fetch,
    );
    this.#bot = new Bot(token, { client: { ...(apiRoot && { apiRoot }), fetch: own } });
    this.#bot.api.config.use(async (call, method, payload, signal) => {
      const isPoll = method === "getUpdates";
      const given = isPoll && !this.#isCaughtUp ? { ...payload, timeout: 0 } : payload;
      const raw: unknown = await call(method, given, signal).catch((error: unknown) => {
        this.#isConnected = false;
        if (isPoll) this.#isCaughtUp = false;
        const cause = error instanceof HttpError ? error.error : error;
        throw cause instanceof RedirectError ? cause : error;
      });
      const answer = answerIn(raw);
      if (answer.ok || isPoll) this.#isConnected = answer.ok && !this.#isClosed();
      if (!answer.ok) return answer;
      if (isPoll) this.#restartMs = firstRestartMs;
      const result = isPoll ? this.#received(answer.result) : answer.result;
      // The library defines the types of the results.
      return { ok: true, result: result as never };
    });
    this.#bot.catch(({ error }) => this.#options.log(`telegram: ${reasonOf(error)}`));
    this.#bot.use(({ me, update }) => this.#take(update, me));
  }

  async connect(): Promise<void> {
    if (this.#isClosed()) throw new Error("telegram was disconnected");
    const begun = Promise.withResolvers<void>();
    this.#poll(() => begun.resolve()).then(begun.resolve, (error: unknown) => {
      this.#options.log(`telegram: ${reasonOf(error)}`);
      begun.reject(error);
    });
    await begun.promise;
  }

  isConnected(): boolean {
    return this.#isConnected;
  }

  ownsJid(jid: string): boolean {
    return jidPattern.test(jid);
  }

  async disconnect(): Promise<void> {
    this.#closed.abort();
    this.#isConnected = false;
    // The last request confirms the received updates. The wait for the request is limited.
    const stopped = new AbortController();
    const stopping = this.#bot
      .stop()
      .catch((error: unknown) => this.#options.log(`telegram: ${reasonOf(error)}`))
      .finally(() => stopped.abort());
    await Promise.race([stopping, waited(stopMs, stopped.signal)]);
  }

  async sendMessage(jid: string, text: string): Promise<string> {
    return (await this.#sendAll(jid, messagesOf(text))).at(-1) ?? "";
  }

  async sendQuestion(jid: string, text: string): Promise<Sent> {
    return sentAs(await this.#sendAll(jid, messagesOf(asked(jid, text))));
  }

  async editMessage(jid: string, messageId: string, text: string): Promise<void> {
    const [first = "", ...rest] = messagesOf(text);
    await this.#formatted(first, (value, parse_mode) =>
      this.#bot.api.editMessageText(this.#placeOf(jid).chat, Number(messageId), value, {
        parse_mode,
      }),
    ).catch((error: unknown) => {
      if (!isAnswer(error, /message is not modified/)) throw refusal(error);
    });
    await this.#sendAll(jid, rest);
  }

  async sendConfirmation(jid: string, workflow: Workflow): Promise<Sent> {
    const messages = messagesOf(asked(jid, await this.#options.describe(workflow)));
    const last = messages.pop() ?? workflow.name;
    const planned = { workflowId: workflow.id, planHash: planHash(workflow) };
    const row = Object.entries(buttons).map(([action, text]) => ({
      text,
      callback_data: buttonText({ action: action as Button["action"], ...planned }),
    }));
    const ids = await this.#sendAll(jid, messages);
    ids.push(await this.#send(jid, last, { reply_markup: { inline_keyboard: [row] } }));
    return sentAs(ids);
  }

  async setTyping(jid: string, isTyping: boolean): Promise<void> {
    const { chat, topic } = this.#placeOf(jid);
    if (isTyping) await this.#bot.api.sendChatAction(chat, "typing", { message_thread_id: topic });
  }

  #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /**
   * Polls until the channel is closed, even after another program has polled for the same bot. Each consecutive failure
   * doubles the wait; a success resets it.
   */
  async #poll(begun: () => void): Promise<void> {
    const { signal } = this.#closed;
    const { log, wait = waited } = this.#options;
    while (!signal.aborted) {
      try {
        // The library declares the parameter with the type of a polyfill that is not used here.
        await this.#bot.init(signal as unknown as Parameters<Bot["init"]>[0]);
        await this.#bot.start({ onStart: begun, limit: mostUpdates, allowed_updates: received });
      } catch (error) {
        this.#isConnected = false;
        if (signal.aborted) return;
        if (isAnswer(error, /unauthorized|not found/i)) throw telegramTokenRejected();
        const ms = this.#restartMs;
        this.#restartMs = Math.min(ms * 2, longestRestartMs);
        log(`telegram: ${reasonOf(error)}; trying again in ${ms / 1000} s`);
        await wait(ms, signal);
      }
    }
  }

  /**
   * Returns the updates in an answer. An update without an id cannot be acknowledged.
   * @throws Error if no update has an id.
   */
  #received(result: unknown): unknown[] {
    const updates = Array.isArray(result) ? result : [];
    const known = updates.filter((one) => Number.isSafeInteger(fieldsOf(one).update_id));
    if (!Array.isArray(result) || (known.length === 0 && updates.length > 0))
      throw new Error("getUpdates: the answer is not a list of updates");
    if (known.length < updates.length)
      this.#options.log("telegram: missing update_id in an update");
    this.#isBacklog = !this.#isCaughtUp;
    this.#isCaughtUp ||= updates.length < mostUpdates;
    return known;
  }

  async #take(update: unknown, me: unknown): Promise<void> {
    const incoming = readUpdate(update, botAccount(me));
    if (incoming?.kind === "moved") return this.#follow(incoming.from, incoming.to);
    const { jid = "", message = null } = incoming ?? {};
    if (message && this.#isBacklog) message.metadata = { ...message.metadata, isBacklog: true };
    if (message) this.#options.onMessage(jid, message);
    if (incoming?.kind !== "press") return;
    const note = message ? {} : { text: "This button is not known." };
    await this.#bot.api.answerCallbackQuery(incoming.pressId, note);
  }

  /** Records that a group was upgraded to another chat. */
  #follow(from: string, to: string): void {
    if (this.#moved.get(from) === to) return;
    this.#moved.set(from, to);
    this.#options.onMoved?.(from, to);
  }

  /** Returns the chat and the topic of a jid. */
  #placeOf(jid: string): Place {
    const [, chat = jid, topic] = jidPattern.exec(jid) ?? [];
    let to = chat;
    for (let hops = 0; hops < mostMoves; hops += 1) to = this.#moved.get(to) ?? to;
    return { chat: to, ...(topic && { topic: Number(topic) }) };
  }

  /** Sends messages in order and returns their ids. */
  async #sendAll(jid: string, messages: readonly string[]): Promise<string[]> {
    const ids: string[] = [];
    for (const message of messages) ids.push(await this.#send(jid, message));
    return ids;
  }

  /** Sends a message. Follows an upgraded group to its new chat, and omits a deleted topic. */
  async #send(jid: string, text: string, extra: Extra = {}, moves = 0): Promise<string> {
    const { chat, topic } = this.#placeOf(jid);
    const send = (to: number | string, thread: number | undefined) =>
      this.#formatted(text, (value, parse_mode) =>
        this.#bot.api.sendMessage(to, value, { parse_mode, message_thread_id: thread, ...extra }),
      );
    try {
      return messageIdIn(await send(chat, topic));
    } catch (error) {
      const to = error instanceof GrammyError && wholeOf(error.parameters.migrate_to_chat_id);
      if (to && moves < mostMoves) {
        this.#follow(String(chat), jidOf(to));
        return await this.#send(jid, text, extra, moves + 1);
      }
      if (topic === undefined || !isAnswer(error, /thread not found/)) throw refusal(error);
      return messageIdIn(
        await send(chat, undefined).catch((again: unknown) => {
          throw refusal(again);
        }),
      );
    }
  }

  /** Sends a text with markup, or without markup if Telegram refuses it. */
  async #formatted<T>(
    text: string,
    send: (text: string, mode: "MarkdownV2" | undefined) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#patiently(() => send(markdownV2(text), "MarkdownV2"));
    } catch (error) {
      if (!isAnswer(error, /can't parse entities/)) throw error;
      return await this.#patiently(() => send(text, undefined));
    }
  }

  /** Waits for the delay that an overloaded server asks for. */
  async #patiently<T>(send: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await send();
      } catch (error) {
        const seconds = error instanceof GrammyError ? error.parameters.retry_after : undefined;
        const isWorth = seconds !== undefined && seconds <= longestRetryAfterS && tries < mostTries;
        if (!isWorth || this.#isClosed()) throw error;
        await waited(seconds * 1000, this.#closed.signal);
      }
    }
  }
}

/** Answer of the Bot API. Telegram numbers all messages of a chat, from the bot and from users, in ascending order. */
type Answer =
  | { ok: true; result: unknown }
  | { ok: false; error_code: number; description: string; parameters: object };

/** Parses the Bot API's answer: a result, or the reason of its failure. */
function answerIn(raw: unknown): Answer {
  const { description, error_code, ok, parameters, result } = fieldsOf(raw);
  if (ok === true || (ok === undefined && result !== undefined)) return { ok: true, result };
  return {
    ...{ ok: false, error_code: wholeOf(error_code) ?? 0, parameters: fieldsOf(parameters) },
    description: textOf(description) ?? "unknown reason",
  };
}

const sentAs = (ids: string[]): Sent => ({ ids, order: Number(ids.at(-1)) || null });

/** Formats a question. In a group the bot reads only replies. */
const asked = (jid: string, text: string): string =>
  jid.startsWith("-") ? `${text}\n\n${howToReply}` : text;

/** Matches refusals of a chat rather than of a text. */
const chatRefused =
  /chat|PEER_ID|rights|CHAT_|TOPIC_|thread|topic|kicked|blocked|deactivated|upgraded|user not found/i;

/** Returns a ChannelRefusal for a final refusal of a message, or any other error unchanged. */
function refusal(error: unknown): unknown {
  if (!(error instanceof GrammyError)) return error;
  const { description, error_code: code } = error;
  if (code !== 400 && code !== 403) return error;
  const of = code === 403 || chatRefused.test(description) ? "chat" : "text";
  return new ChannelRefusal(of, `telegram refuses it: ${description}`, { cause: error });
}

const isAnswer = (error: unknown, pattern: RegExp): boolean =>
  error instanceof GrammyError && pattern.test(error.description);
