/*
 * Owns: the event connection that a browser's tabs share, and the list of followers. Does not own: the meaning of
 * messages. Runs in a shared worker, or in the page if the browser has no shared workers. A tab follows a thread, or
 * the host with its plans, by its port, and gets messages after a cursor. When the followers change, the hub opens a
 * new connection after the last delivered message and then closes the old connection, so messages are neither lost nor
 * repeated.
 */

import type { Failure } from "@uncaged/workflow-server/api-types";
import { eventsIn, type ServerEvent } from "./server-events.ts";

/**
 * State of the connection: `lost` while reconnecting, `refused` if the server refuses it, or the seconds until the next
 * attempt if too many streams are open.
 */
export type Connection = "open" | "lost" | "refused" | number;

/** A message from a tab. `thread` is null for changes of the host. */
export type ToHub =
  | { kind: "follow"; id: number; thread: string | null; cursor: string | null }
  | { kind: "leave"; id: number }
  | { kind: "close" };

/** A message for the follower `id` of a tab. */
export type Message = ServerEvent & { id: number };

/** A message to a tab. */
export type FromHub =
  | { kind: "connection"; connection: Connection }
  | { kind: "messages"; messages: Message[] };

type Follower = { port: MessagePort; id: number; thread: string | null; cursor: string | null };

type ThreadFollower = Follower & { thread: string };

const retryMs = 1_000;

export class Hub {
  readonly #tabs = new Set<MessagePort>();
  readonly #followers = new Set<Follower>();
  /** Messages to deliver together, by tab. */
  readonly #batches = new Map<MessagePort, Message[]>();
  #connection: Connection = "open";
  #hostCursor: string | null = null;
  #planCursor: string | null = null;
  #abort: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  add(port: MessagePort): void {
    this.#tabs.add(port);
    port.addEventListener("message", ({ data }: MessageEvent<ToHub>) => this.#take(port, data));
    port.start();
    post(port, { kind: "connection", connection: this.#connection });
  }

  #take(port: MessagePort, asked: ToHub): void {
    if (asked.kind === "follow") {
      const { id, thread, cursor } = asked;
      this.#followers.add({ port, id, thread, cursor });
      if (thread === null) this.#reload(port, id);
      if (thread !== null || this.#abort === null) this.#connectSoon(0);
      return;
    }
    const isClosed = asked.kind === "close";
    if (isClosed) this.#tabs.delete(port);
    for (const one of this.#followers)
      if (one.port === port && (isClosed || one.id === asked.id)) this.#followers.delete(one);
    this.#connectSoon(retryMs);
  }

  /** Makes a follower of the host that joins an existing connection read its lists. */
  #reload(port: MessagePort, id: number): void {
    const read = { id, data: "{}", cursor: null };
    if (this.#hostCursor !== null) this.#pass(port, { ...read, name: "reload" });
    if (this.#planCursor !== null) this.#pass(port, { ...read, name: "plans" });
  }

  #connectSoon(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), ms);
  }

  async #connect(): Promise<void> {
    const before = this.#abort;
    const abort = (this.#abort = new AbortController());
    const followers = [...this.#followers].filter(followsThread);
    if (this.#followers.size === 0) {
      this.#abort = null;
      this.#hostCursor = null;
      this.#planCursor = null;
      before?.abort();
      return;
    }
    try {
      const response = await fetch(this.#urlOf(followers), { signal: abort.signal });
      // The old connection has delivered nothing since the request, and the server continues after the cursor.
      before?.abort();
      if (!response.ok || !response.body) return this.#retry(abort, await refusalOf(response));
      this.#report("open");
      await this.#read(response.body, followers, abort);
    } catch {
      before?.abort();
    }
    this.#retry(abort, "lost");
  }

  #retry(abort: AbortController, connection: Connection): void {
    if (abort !== this.#abort || abort.signal.aborted) return;
    this.#report(connection);
    this.#connectSoon(typeof connection === "number" ? connection * 1_000 : retryMs);
  }

  #urlOf(followers: readonly ThreadFollower[]): string {
    const query = new URLSearchParams();
    if (this.#hostCursor !== null) query.set("from", this.#hostCursor);
    query.set("plans", this.#planCursor ?? "");
    for (const { thread, cursor } of followers) {
      query.append("thread", cursor === null ? thread : `${thread}~${cursor}`);
    }
    return `/api/events?${query.toString()}`;
  }

  async #read(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    followers: readonly ThreadFollower[],
    abort: AbortController,
  ): Promise<void> {
    let of: unknown = 0;
    for await (const event of eventsIn(body)) {
      if (abort !== this.#abort) return;
      if (event.name === "of") of = JSON.parse(event.data);
      else if (of === 0 || of === "plans") this.#spreadToAll(event, of);
      else this.#spread(event, followers[Number(of) - 1]);
    }
  }

  #spread(message: ServerEvent, follower: ThreadFollower | undefined): void {
    if (follower === undefined) return;
    follower.cursor = message.cursor ?? follower.cursor;
    if (this.#followers.has(follower)) this.#pass(follower.port, { id: follower.id, ...message });
  }

  #spreadToAll(message: ServerEvent, of: 0 | "plans"): void {
    if (of === 0) this.#hostCursor = message.cursor ?? this.#hostCursor;
    else this.#planCursor = message.cursor ?? this.#planCursor;
    for (const { port, id, thread } of this.#followers)
      if (thread === null) this.#pass(port, { id, ...message });
  }

  #pass(port: MessagePort, message: Message): void {
    const batch = this.#batches.get(port);
    if (batch) return void batch.push(message);
    this.#batches.set(port, [message]);
    setTimeout(() => {
      const messages = this.#batches.get(port) ?? [];
      this.#batches.delete(port);
      post(port, { kind: "messages", messages });
    });
  }

  #report(connection: Connection): void {
    if (connection === this.#connection) return;
    this.#connection = connection;
    for (const port of this.#tabs) post(port, { kind: "connection", connection });
  }
}

const followsThread = (follower: Follower): follower is ThreadFollower => follower.thread !== null;

async function refusalOf(response: Response): Promise<Connection> {
  const { error } = (await response.json().catch(() => ({}))) as Partial<Failure>;
  if (error?.code !== "TOO_MANY_STREAMS") return "refused";
  return Number(response.headers.get("Retry-After")) || 1;
}

const post = (port: MessagePort, message: FromHub): void => port.postMessage(message);
