import { useSyncExternalStore } from "react";

type Listeners<Events> = {
  [Name in keyof Events]?: (data: Events[Name]) => void;
};

type Options<Events> = {
  /** The path and its query; `from` is the id of the last event that arrived, null at first. */
  url: (from: string | null) => string;
  on: Listeners<Events>;
};

const retryMs = 1_000;
/** A page that nobody sees gives its connection to those that are seen: browsers have six a server. */
const hiddenMs = 5_000;

/**
 * Follows a stream of server-sent events until it is closed. Reconnects behind the last event that
 * it got; a browser does so too, but not after it was refused.
 */
export class Stream<Events extends object> {
  readonly #options: Options<Events>;
  #source: EventSource | null = null;
  #last: string | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;
  readonly #onVisibility = () => {
    this.#wait(document.hidden ? hiddenMs : 0, () =>
      document.hidden ? this.#drop() : this.#ensure(),
    );
  };

  constructor(options: Options<Events>) {
    this.#options = options;
    document.addEventListener("visibilitychange", this.#onVisibility);
    this.#open();
  }

  get position(): string | null {
    return this.#last;
  }

  close(): void {
    this.#closed = true;
    document.removeEventListener("visibilitychange", this.#onVisibility);
    this.#stopWaiting();
    this.#drop();
    setConnection(this, null);
  }

  #open(): void {
    const source = new EventSource(this.#options.url(this.#last));
    this.#source = source;
    source.addEventListener("open", () => setConnection(this, "open"));
    source.addEventListener("error", () => this.#onError(source));
    for (const name of Object.keys(this.#options.on) as (keyof Events & string)[]) {
      source.addEventListener(name, (event: MessageEvent<string>) => {
        if (event.lastEventId) this.#last = event.lastEventId;
        this.#options.on[name]?.(JSON.parse(event.data) as Events[typeof name]);
      });
    }
  }

  #onError(source: EventSource): void {
    if (this.#closed || source !== this.#source) return;
    // A browser reconnects where nobody answers, and gives up where it was refused.
    const isRefused = source.readyState === EventSource.CLOSED;
    setConnection(this, isRefused ? "refused" : "lost");
    if (!isRefused) return;
    this.#source = null;
    this.#wait(retryMs, () => this.#ensure());
  }

  #ensure(): void {
    if (!this.#source && !this.#closed) this.#open();
  }

  #drop(): void {
    this.#source?.close();
    this.#source = null;
  }

  #wait(ms: number, then: () => void): void {
    this.#stopWaiting();
    this.#timer = setTimeout(then, ms);
  }

  #stopWaiting(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

/** How a stream is connected: `lost` until the server is reached again, `refused` when it refuses. */
type Connection = "open" | "lost" | "refused";

const streams = new Map<object, Connection>();
const listeners = new Set<() => void>();

/** Reports how a stream is connected; null when it is closed. */
function setConnection(stream: object, connection: Connection | null): void {
  if (connection === null) streams.delete(stream);
  else streams.set(stream, connection);
  for (const listener of listeners) listener();
}

function worst(): Connection {
  const all = [...streams.values()];
  return (["lost", "refused"] as const).find((one) => all.includes(one)) ?? "open";
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The state of the page's streams: the worst of them. */
export const useConnection = (): Connection => useSyncExternalStore(subscribe, worst);
