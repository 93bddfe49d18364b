import { setConnection, setRefused } from "./connection.ts";
import { parsing } from "./json-slices.ts";
import { ownIn } from "./own.ts";
import { inSlices, type Sliced } from "./slices.ts";
import type { FromHub, Message, ToHub } from "./hub.ts";

type Options<Events> = {
  /** The thread to follow; null for changes of the host. */
  thread: string | null;
  /** The id of the event to continue after; null for the start. */
  from?: string | null;
  on: { [Name in keyof Events]?: (data: Events[Name]) => void };
};

/** Follows a thread or the host, over the connection that all tabs share. */
export class Stream<Events extends object> {
  readonly #options: Options<Events>;
  readonly #id = (lastId += 1);
  #position: string | null;

  constructor(options: Options<Events>) {
    this.#options = options;
    this.#position = options.from ?? null;
    followed.set(this.#id, this);
    this.open();
  }

  /** The id of the last event. */
  get position(): string | null {
    return this.#position;
  }

  open(): void {
    const { thread } = this.#options;
    send({ kind: "follow", id: this.#id, thread, cursor: this.#position });
  }

  close(): void {
    followed.delete(this.#id);
    setRefused(this.#id, false);
    send({ kind: "leave", id: this.#id });
  }

  take({ name, cursor }: Message, data: unknown): void {
    this.#position = cursor ?? this.#position;
    if (name === "refused") setRefused(this.#id, true);
    const on = this.#options.on as Readonly<Record<string, (data: unknown) => void>>;
    ownIn(on, name)?.(data);
  }
}

let lastId = 0;
const followed = new Map<number, Pick<Stream<object>, "take" | "open">>();

let port: MessagePort | null = null;

function send(message: ToHub): void {
  const isFollowed = message.kind === "follow";
  if (isFollowed ? isUnseen() : port === null) return;
  port ??= connected();
  port.postMessage(message);
}

function connected(): MessagePort {
  const opened = portToHub();
  opened.addEventListener("message", ({ data }: MessageEvent<FromHub>) => {
    if (data.kind === "connection") setConnection(data.connection);
    else void takeSoon(data.messages);
  });
  opened.start();
  // A page may be restored from the back-forward cache.
  addEventListener("pagehide", leave, { once: true });
  addEventListener("pageshow", (event) => {
    if ((event as PageTransitionEvent).persisted && port === null) reopen();
  });
  return opened;
}

function leave(): void {
  send({ kind: "close" });
  port = null;
}

function reopen(): void {
  port = null;
  for (const stream of followed.values()) stream.open();
}

function portToHub(): MessagePort {
  if (typeof SharedWorker === "function") {
    const hub = new SharedWorker(new URL("./hub-worker.ts", import.meta.url), { type: "module" });
    // The server may be lost before the script is loaded.
    hub.addEventListener("error", () => {
      setConnection("lost");
      setTimeout(reopen, 1_000);
    });
    return hub.port;
  }
  const { port1, port2 } = new MessageChannel();
  // Messages wait in the port.
  void import("./hub.ts").then(({ Hub }) => new Hub().add(port2));
  return port1;
}

// A browser opens at most six connections to a server. Without a shared worker each tab has its own
// connection, so a seventh tab would wait forever. Therefore hidden tabs disconnect.
const isAlone = typeof SharedWorker !== "function";
const isUnseen = (): boolean => isAlone && document.hidden;

if (isAlone && typeof document === "object") {
  document.addEventListener("visibilitychange", () => (isUnseen() ? leave() : reopen()));
}

let waiting: Message[] = [];
let isTaking = false;

async function takeSoon(messages: Message[]): Promise<void> {
  waiting = waiting.concat(messages);
  if (isTaking) return;
  isTaking = true;
  try {
    await inSlices(takingAll());
  } finally {
    isTaking = false;
  }
}

function* takingAll(): Sliced<void> {
  while (waiting.length > 0) {
    const messages = waiting;
    waiting = [];
    for (const message of messages) {
      if (!followed.has(message.id)) continue;
      const data = yield* parsing(message.data);
      followed.get(message.id)?.take(message, data);
      yield;
    }
  }
}
