import type { ResumeReply, ResumeRequest } from "../context/context.ts";
import type { Answered, PauseRequest } from "../context/feed.ts";

// What a timer can wait at once.
const longestTimer = 2 ** 31 - 1;

type Open = { token: string; settle: (answer: Answered | undefined) => void };

/** The question that a run waits with, and the answers that it has had. */
export class Question {
  readonly #onRejected: (reason: string) => void;
  readonly #replies = new Map<string, ResumeReply>();
  readonly #used = new Set<string>();
  #open: Open | null = null;

  constructor(onRejected: (reason: string) => void) {
    this.#onRejected = onRejected;
  }

  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** Waits for the answer; undefined when the run is cancelled before. */
  async ask(wait: PauseRequest, signal: AbortSignal): Promise<Answered | undefined> {
    const { promise, resolve } = Promise.withResolvers<Answered | undefined>();
    this.#open = { token: wait.token, settle: resolve };
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const stopTimer = this.#timer(wait, resolve);
    try {
      return await promise;
    } finally {
      this.#open = null;
      this.#used.add(wait.token);
      stopTimer();
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Gives the answer, when the token is that of the question. */
  answer({ token, payload, requestId }: ResumeRequest): ResumeReply {
    const before = requestId === undefined ? undefined : this.#replies.get(requestId);
    if (before) return before;
    const reason = this.#refusal(token);
    if (reason !== null) {
      this.#onRejected(reason);
      return { ok: false, reason };
    }
    const reply: ResumeReply = { ok: true };
    if (requestId !== undefined) this.#replies.set(requestId, reply);
    const open = this.#open;
    this.#open = null;
    this.#used.add(token);
    open?.settle({ payload: payload ?? null, requestId, timedOut: false });
    return reply;
  }

  #refusal(token: string): string | null {
    if (this.#used.has(token)) return "the token was used before";
    if (!this.#open) return "the run is not paused";
    return this.#open.token === token ? null : "the token is not that of the pause";
  }

  #timer({ expiresAt }: PauseRequest, settle: Open["settle"]): () => void {
    if (expiresAt === undefined) return () => undefined;
    let timer: ReturnType<typeof setTimeout>;
    const tick = (): void => {
      const left = expiresAt - Date.now();
      if (left <= 0) settle({ payload: null, timedOut: true });
      else timer = setTimeout(tick, Math.min(left, longestTimer));
    };
    tick();
    return () => clearTimeout(timer);
  }
}
