import { homedir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "../error/error.ts";
import type { Workflow } from "../plan/plan.ts";
import { type Channel, type ChannelOptions, reasonOf, type Sent, waited } from "./channel.ts";
import { fieldsOf, listOf, textOf, wholeOf } from "./fields.ts";
import { messagesOf } from "./text.ts";
import { ownIds, readMessage, sentId } from "./whatsapp-message.ts";

/** The key of a message in WhatsApp. */
export type MessageKey = {
  remoteJid?: string | null;
  fromMe?: boolean | null;
  id?: string | null;
  participant?: string | null;
  /** The telephone's id of a chat or sender with an anonymous id. */
  remoteJidAlt?: string | null;
  participantAlt?: string | null;
};

/** The reason of a disconnection. */
type Disconnection = Error & { output?: { statusCode?: number } };

export type ConnectionUpdate = {
  connection?: "connecting" | "open" | "close";
  lastDisconnect?: { error?: Disconnection };
  /** The code that a telephone scans to link this device. Sent while no telephone is linked. */
  qr?: string;
};

export type WhatsAppEvents = {
  "connection.update": ConnectionUpdate;
  /** With the type `append`, the messages were sent while the connection was down. */
  "messages.upsert": { messages: unknown[]; type: string };
};

/** The server's receipt of a sent message. `t` is the time on the server's clock, in seconds. */
export type MessageAck = { attrs: { id?: string; t?: string; error?: string } };

/** The part of WhatsApp's client that the channel uses. */
export type WhatsAppSocket = {
  /** The account of the linked telephone. */
  user?: { id?: string; lid?: string };
  /** The client's connection, which emits the server's messages. */
  ws: {
    on(event: "CB:ack,class:message", listener: (ack: MessageAck) => void): unknown;
  };
  ev: {
    on<E extends keyof WhatsAppEvents>(
      event: E,
      listener: (update: WhatsAppEvents[E]) => void,
    ): void;
  };
  sendMessage(
    jid: string,
    content: { text: string; edit?: MessageKey },
  ): Promise<{ key: MessageKey } | undefined>;
  sendPresenceUpdate(type: "composing" | "paused", jid: string): Promise<void>;
  requestPairingCode(phone: string): Promise<string>;
  end(error?: Error): unknown;
};

export type WhatsAppOptions = ChannelOptions & {
  /** The folder with the credentials of the linked device; `~` is the home directory. */
  authDir: string;
  /** The number of the telephone to link to, in digits. */
  phone?: string;
  /** Opens a connection with the credentials of a folder. */
  openSocket: (authDir: string) => Promise<WhatsAppSocket>;
  /** Longest wait for the server's acknowledgement of a question, in milliseconds. */
  ackMs?: number;
  /** Waits before the next connection attempt. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
};

const firstWaitMs = 1_000;
const longestWaitMs = 300_000;
const longestAckMs = 20_000;
const mostAcks = 200;
/** The status codes for a permanent end and for an immediate reconnection. */
const ended = { loggedOut: 401, restartRequired: 515 };
const howToReply = "Reply to this message.";
const howToAnswer = "Answer yes, no or modify, or describe the change.";

/** The WhatsApp channel: a device that is linked to a telephone. */
export class WhatsAppChannel implements Channel {
  readonly name = "whatsapp";
  readonly #options: WhatsAppOptions;
  readonly #closed = new AbortController();
  /** The times at which the server received the last sent messages; unresolved until the server reports them. */
  readonly #acks = new Map<string, PromiseWithResolvers<number | null>>();
  #socket: WhatsAppSocket | null = null;
  #isConnected = false;
  #waitMs = firstWaitMs;

  constructor(options: WhatsAppOptions) {
    this.#options = options;
  }

  async connect(): Promise<void> {
    if (this.#closed.signal.aborted) throw new Error("whatsapp was disconnected");
    const begun = Promise.withResolvers<void>();
    this.#run(() => begun.resolve()).then(begun.resolve, (error: unknown) => {
      this.#options.log(`whatsapp: ${reasonOf(error)}`);
      begun.reject(error);
    });
    await begun.promise;
  }

  isConnected(): boolean {
    return this.#isConnected;
  }

  ownsJid(jid: string): boolean {
    return /@(s\.whatsapp\.net|g\.us|lid)$/.test(jid);
  }

  async disconnect(): Promise<void> {
    this.#closed.abort();
    this.#isConnected = false;
    await this.#socket?.end();
    this.#socket = null;
  }

  async sendMessage(jid: string, text: string): Promise<string> {
    return (await this.#sendAll(jid, text)).at(-1) ?? "";
  }

  /**
   * The order is the server's clock: the timestamp of a received message, the time in the receipt of a sent message.
   * The client's timestamp of a sent message comes from the local clock.
   */
  async sendQuestion(jid: string, text: string): Promise<Sent> {
    const ids = await this.#sendAll(jid, jid.endsWith("@g.us") ? `${text}\n\n${howToReply}` : text);
    const last = ids.at(-1);
    const order = last ? await this.#takenAt(last) : null;
    if (order === null) this.#options.log("whatsapp: a question was not acknowledged");
    return { ids, order };
  }

  async editMessage(jid: string, messageId: string, text: string): Promise<void> {
    const [first = "", ...rest] = messagesOf(text);
    const edit = { remoteJid: jid, fromMe: true, id: messageId };
    await this.#open().sendMessage(jid, { text: first, edit });
    for (const message of rest) await this.sendMessage(jid, message);
  }

  async sendConfirmation(jid: string, workflow: Workflow): Promise<Sent> {
    const text = await this.#options.describe(workflow);
    return await this.sendQuestion(jid, `${text}\n\n${howToAnswer}`);
  }

  async setTyping(jid: string, isTyping: boolean): Promise<void> {
    await this.#open().sendPresenceUpdate(isTyping ? "composing" : "paused", jid);
  }

  async #sendAll(jid: string, text: string): Promise<string[]> {
    const ids: string[] = [];
    for (const message of messagesOf(text)) {
      const id = sentId(await this.#open().sendMessage(jid, { text: message }));
      if (id !== "") this.#ackOf(id);
      ids.push(id);
    }
    return ids;
  }

  /** Returns the time when the server received a message, or null if the server does not report it. */
  async #takenAt(id: string): Promise<number | null> {
    const { ackMs = longestAckMs } = this.#options;
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#closed.signal]);
    const late = waited(ackMs, signal).then(() => null);
    return await Promise.race([this.#ackOf(id).promise, late]).finally(() => over.abort());
  }

  /** Returns the receipt of a message. The receipt may arrive before the message's id is known here. */
  #ackOf(id: string): PromiseWithResolvers<number | null> {
    const known = this.#acks.get(id);
    if (known) return known;
    const ack = Promise.withResolvers<number | null>();
    this.#acks.set(id, ack);
    for (const old of [...this.#acks.keys()].slice(0, -mostAcks)) this.#acks.delete(old);
    return ack;
  }

  #open(): WhatsAppSocket {
    if (this.#socket && this.#isConnected) return this.#socket;
    throw new Error("whatsapp is not connected");
  }

  /** Keeps a connection open until the channel is closed or the device is unlinked. */
  async #run(begun: () => void): Promise<void> {
    const { signal } = this.#closed;
    const { log, wait = waited } = this.#options;
    while (!signal.aborted) {
      const error = await this.#connection(begun).catch((thrown: unknown): Disconnection => {
        if (thrown instanceof ConfigError) throw thrown;
        return thrown instanceof Error ? thrown : new Error(String(thrown));
      });
      const status = error?.output?.statusCode;
      const reason = error ? ` (${reasonOf(error)})` : "";
      this.#isConnected = false;
      if (signal.aborted) return;
      if (status === ended.loggedOut) {
        log(
          "whatsapp: the device is no longer linked; remove whatsapp.auth_dir, and link it again",
        );
        return;
      }
      if (status === ended.restartRequired) continue;
      log(`whatsapp: the connection has ended${reason}; trying again in ${this.#waitMs / 1000} s`);
      await wait(this.#waitMs, signal);
      this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
    }
  }

  /** Runs one connection to its end and returns the reason. */
  async #connection(begun: () => void): Promise<Disconnection | undefined> {
    const { authDir, openSocket } = this.#options;
    const socket = await openSocket(expanded(authDir));
    if (this.#closed.signal.aborted) return void (await socket.end());
    this.#socket = socket;
    const over = Promise.withResolvers<Disconnection | undefined>();
    let isAsked = false;
    socket.ev.on("connection.update", (update: unknown) => {
      if (socket !== this.#socket) return;
      const { connection, lastDisconnect, qr } = fieldsOf(update);
      if (textOf(qr) !== undefined && !isAsked) {
        isAsked = true;
        void this.#link(socket);
      }
      if (connection === "open") {
        this.#isConnected = true;
        this.#waitMs = firstWaitMs;
        begun();
      }
      if (connection === "close") over.resolve(disconnectionOf(fieldsOf(lastDisconnect).error));
    });
    socket.ws.on("CB:ack,class:message", (ack: unknown) => {
      const { error, id, t } = fieldsOf(fieldsOf(ack).attrs);
      const order = error === undefined || error === null ? wholeOf(t) : undefined;
      if (typeof id === "string") this.#ackOf(id).resolve(order || null);
    });
    socket.ev.on("messages.upsert", (update: unknown) => {
      const { messages, type } = fieldsOf(update);
      for (const message of listOf(messages)) this.#take(socket, message, type === "append");
    });
    this.#closed.signal.addEventListener("abort", () => over.resolve(undefined), { once: true });
    return await over.promise;
  }

  async #link(socket: WhatsAppSocket): Promise<void> {
    const { log, phone } = this.#options;
    if (phone === undefined) {
      log("whatsapp: no device is linked; set whatsapp.phone to the number of the telephone");
      return;
    }
    try {
      const code = await socket.requestPairingCode(phone);
      log(`whatsapp: enter ${code} on the telephone, under Linked devices, Link with phone number`);
    } catch (error) {
      log(`whatsapp: no linking code available: ${reasonOf(error)}`);
    }
  }

  #take({ user }: WhatsAppSocket, given: unknown, isBacklog: boolean): void {
    const hasSent = (id: string) => this.#acks.has(id);
    const read = readMessage(given, { ids: ownIds(user), hasSent });
    if (!read) return;
    const { jid, message } = read;
    if (isBacklog) message.metadata = { ...message.metadata, isBacklog };
    try {
      this.#options.onMessage(jid, message);
    } catch (error) {
      this.#options.log(`whatsapp: ${reasonOf(error)}`);
    }
  }
}

/** Returns the reason of a disconnection, by the client's status. */
function disconnectionOf(error: unknown): Disconnection | undefined {
  if (error === undefined || error === null) return undefined;
  const statusCode = wholeOf(fieldsOf(fieldsOf(error).output).statusCode);
  const message = textOf(fieldsOf(error).message) ?? "for no known reason";
  return Object.assign(new Error(message), { output: { statusCode } });
}

export const expanded = (path: string): string =>
  path === "~" || path.startsWith("~/") ? join(homedir(), path.slice(1)) : path;
