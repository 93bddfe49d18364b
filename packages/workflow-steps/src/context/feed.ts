import type { RunEvent } from "../document/event.ts";
import type { Commit, PathPart } from "../state/state.ts";

/** What a Pause asks for. Times are in milliseconds since the epoch. */
export type PauseRequest = {
  stepID: string;
  path: PathPart[];
  token: string;
  reason: string | null;
  expiresAt?: number;
  onTimeout?: string;
};

/** What a Pause got. */
export type Answered = { payload: unknown; requestId?: string; timedOut: boolean };

/**
 * What an interpreter gives. A commit is to be made durable before the next is asked for, and its event
 * published after that; a wait is answered by the value of `next()`.
 */
export type Happening =
  | { kind: "event"; event: RunEvent }
  | { kind: "commit"; role: string; commit: Commit; event: RunEvent | null }
  | { kind: "wait"; wait: PauseRequest; event: RunEvent };

type Item = { happening: Happening; settle: ((answer: Answered | undefined) => void) | null };

/**
 * The one queue between the chains of a run and who drives it. Chains that run side by side put in;
 * one reader takes out, in order. After it was closed nothing is put in any more.
 */
export class Feed {
  #items: Item[] = [];
  #wake: (() => void) | null = null;
  #isClosed = false;
  #failure: { error: unknown } | null = null;

  /** Tells of an event; nobody waits for it. */
  tell(event: RunEvent): void {
    this.#put({ happening: { kind: "event", event }, settle: null });
  }

  /** Resolves when the commit is durable; never when the run ends before. */
  commit(role: string, commit: Commit, event: RunEvent | null): Promise<void> {
    return new Promise((resolve) => {
      this.#put({ happening: { kind: "commit", role, commit, event }, settle: () => resolve() });
    });
  }

  /** Resolves with the answer; never when the run ends before. */
  ask(wait: PauseRequest, event: RunEvent): Promise<Answered> {
    return new Promise((resolve, reject) => {
      this.#put({
        happening: { kind: "wait", wait, event },
        settle: (answer) => (answer ? resolve(answer) : reject(new Error("nobody answered"))),
      });
    });
  }

  /** Ends the feed after what is in it; with `failure` the reader then gets that error. */
  close(failure?: { error: unknown }): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#failure = failure ?? null;
    this.#wake?.();
  }

  async *happenings(): AsyncGenerator<Happening, void, Answered | undefined> {
    for (;;) {
      const items = this.#items;
      this.#items = [];
      for (const { happening, settle } of items) {
        const answer = yield happening;
        settle?.(answer);
      }
      if (this.#items.length > 0) continue;
      if (this.#isClosed) break;
      await this.#filled();
    }
    if (this.#failure) throw this.#failure.error;
  }

  #put(item: Item): void {
    if (this.#isClosed) return;
    this.#items.push(item);
    this.#wake?.();
  }

  #filled(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
    });
  }
}
