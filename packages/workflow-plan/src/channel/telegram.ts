import { Bot, type Context, GrammyError, HttpError } from "grammy/web";
import { fetchWithinOrigin, RedirectError } from "@uncaged/workflow-agents/interpreter";
import { ConfigError } from "../error/error.ts";
import { planHash } from "../plan/hash.ts";
import type { Workflow } from "../plan/plan.ts";
import {
  type Button,
  buttonText,
  type Channel,
  type ChannelOptions,
  readButton,
  reasonOf,
  type Sent,
  waited,
} from "./channel.ts";
import { markdownV2, messagesOf } from "./text.ts";

export type TelegramOptions = ChannelOptions & {
  token: string;
  /** The address of another Bot API server than Telegram's. */
  apiRoot?: string;
  /** Waits before it polls again. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
};

const longestRetryAfterS = 60;
const mostTries = 3;
const stopMs = 5_000;
const firstRestartMs = 1_000;
const longestRestartMs = 300_000;
const buttons = { confirm: "Confirm", modify: "Modify", cancel: "Cancel" } as const;

type Extra = { reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] } };

/** Telegram, by a bot that polls for its updates. */
export class TelegramChannel implements Channel {
  readonly name = "telegram";
  readonly #options: TelegramOptions;
  readonly #bot: Bot;
  readonly #closed = new AbortController();
  #isConnected = false;
  #restartMs = firstRestartMs;

  constructor(options: TelegramOptions) {
    this.#options = options;
    const { apiRoot, token } = options;
    // The token is in each URL.
    const own: typeof fetch = Object.assign(
      (url: Parameters<typeof fetch>[0], init?: RequestInit) =>
        fetchWithinOrigin(url instanceof Request ? url.url : url, { ...init, hasCredential: true }),
      fetch,
    );
    this.#bot = new Bot(token, { client: { ...(apiRoot && { apiRoot }), fetch: own } });
    this.#bot.api.config.use(async (call, method, payload, signal) => {
      const answer = await call(method, payload, signal).catch((error: unknown) => {
        this.#isConnected = false;
        const cause = error instanceof HttpError ? error.error : error;
        throw cause instanceof RedirectError ? cause : error;
      });
      if (answer.ok || method === "getUpdates") this.#isConnected = answer.ok && !this.#isClosed();
      if (answer.ok && method === "getUpdates") this.#restartMs = firstRestartMs;
      return answer;
    });
    this.#bot.catch(({ error }) => this.#options.log(`telegram: ${reasonOf(error)}`));
    this.#bot.on("message:text", (context) => this.#take(context, context.msg.text));
    this.#bot.on("callback_query:data", (context) => this.#press(context));
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
    return /^-?\d+$/.test(jid);
  }

  async disconnect(): Promise<void> {
    this.#closed.abort();
    this.#isConnected = false;
    // The last request confirms what was received; waiting for it has a bound.
    const stopped = new AbortController();
    const stopping = this.#bot
      .stop()
      .catch((error: unknown) => this.#options.log(`telegram: ${reasonOf(error)}`))
      .finally(() => stopped.abort());
    await Promise.race([stopping, waited(stopMs, stopped.signal)]);
  }

  async sendMessage(jid: string, text: string): Promise<string> {
    return (await this.#sendAll(jid, text)).at(-1) ?? "";
  }

  async sendQuestion(jid: string, text: string): Promise<Sent> {
    return sentAs(await this.#sendAll(jid, text));
  }

  async editMessage(jid: string, messageId: string, text: string): Promise<void> {
    const [first = "", ...rest] = messagesOf(text);
    await this.#formatted(first, (value, parse_mode) =>
      this.#bot.api.editMessageText(jid, Number(messageId), value, { parse_mode }),
    ).catch((error: unknown) => {
      if (!isAnswer(error, /message is not modified/)) throw error;
    });
    for (const message of rest) await this.#send(jid, message);
  }

  async sendConfirmation(jid: string, workflow: Workflow): Promise<Sent> {
    const messages = messagesOf(await this.#options.describe(workflow));
    const last = messages.pop() ?? workflow.name;
    const ids: string[] = [];
    for (const message of messages) ids.push(await this.#send(jid, message));
    const planned = { workflowId: workflow.id, planHash: planHash(workflow) };
    const row = Object.entries(buttons).map(([action, text]) => ({
      text,
      callback_data: buttonText({ action: action as Button["action"], ...planned }),
    }));
    ids.push(await this.#send(jid, last, { reply_markup: { inline_keyboard: [row] } }));
    return sentAs(ids);
  }

  async setTyping(jid: string, isTyping: boolean): Promise<void> {
    if (isTyping) await this.#bot.api.sendChatAction(jid, "typing");
  }

  #isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /**
   * Polls until the channel is closed: also after another program has polled for the same bot. Each failure in a row doubles
   * the wait; a poll that is answered ends the row.
   */
  async #poll(begun: () => void): Promise<void> {
    const { signal } = this.#closed;
    const { log, wait = waited } = this.#options;
    while (!signal.aborted) {
      try {
        // The type is that of a polyfill, which is not used.
        await this.#bot.init(signal as unknown as Parameters<Bot["init"]>[0]);
        await this.#bot.start({ onStart: begun, allowed_updates: ["message", "callback_query"] });
      } catch (error) {
        this.#isConnected = false;
        if (signal.aborted) return;
        if (isAnswer(error, /unauthorized|not found/i)) throw invalidToken();
        const ms = this.#restartMs;
        this.#restartMs = Math.min(ms * 2, longestRestartMs);
        log(`telegram: ${reasonOf(error)}; trying again in ${ms / 1000} s`);
        await wait(ms, signal);
      }
    }
  }

  #take({ chat, from, msg, update }: Context, text: string): void {
    if (!chat || !from || !msg) return;
    const replyTo = repliedTo(msg);
    this.#options.onMessage(String(chat.id), {
      text,
      sender: String(from.id),
      timestamp: new Date(msg.date * 1000).toISOString(),
      ...(replyTo !== undefined && { replyTo }),
      metadata: { id: `update ${update.update_id}`, order: msg.message_id },
    });
  }

  async #press(context: Context): Promise<void> {
    const { callbackQuery, chat, from, update } = context;
    const button = readButton(callbackQuery?.data ?? "");
    if (chat && from && button) {
      const metadata = { id: `update ${update.update_id}`, button };
      this.#options.onMessage(String(chat.id), { text: "", sender: String(from.id), metadata });
    }
    await context.answerCallbackQuery(button ? {} : { text: "This button is not known." });
  }

  /** Sends a text of any length; gives the ids of its messages. */
  async #sendAll(jid: string, text: string): Promise<string[]> {
    const ids: string[] = [];
    for (const message of messagesOf(text)) ids.push(await this.#send(jid, message));
    return ids;
  }

  async #send(jid: string, text: string, extra: Extra = {}): Promise<string> {
    const { message_id } = await this.#formatted(text, (value, parse_mode) =>
      this.#bot.api.sendMessage(jid, value, { parse_mode, ...extra }),
    );
    return String(message_id);
  }

  /** Sends with markup and, when that is refused, without. */
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

  /** Waits as long as a server that gets too much asks for. */
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

/** Telegram numbers the messages of a chat, of the bot and of its users, in one ascending order. */
const sentAs = (ids: string[]): Sent => ({ ids, order: Number(ids.at(-1)) || null });

/** The id of the message that a message replies to. In a topic every message refers to the topic's first one. */
function repliedTo(message: NonNullable<Context["msg"]>): string | undefined {
  if (message.external_reply ?? message.reply_to_story) return "elsewhere";
  const id = message.reply_to_message?.message_id;
  const isTopic = message.is_topic_message === true && id === message.message_thread_id;
  return id === undefined || isTopic ? undefined : String(id);
}

const isAnswer = (error: unknown, pattern: RegExp): boolean =>
  error instanceof GrammyError && pattern.test(error.description);

const invalidToken = (): ConfigError =>
  new ConfigError("telegram.token is refused by Telegram", {
    hint: "get the bot's token from @BotFather, and set telegram.token",
  });
