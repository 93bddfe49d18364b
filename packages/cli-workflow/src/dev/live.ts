import type { Observed, ThreadRef, ThreadStatus } from "@uncaged/workflow/host";
import { endOf, showEnd, streamItem } from "../follow/follow.ts";
import { View } from "../follow/view.ts";
import { whatNext } from "../output/outcome.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session/session.ts";
import type { Spinner } from "../output/output.ts";

/** Number of kept steps to show. The view only counts earlier steps. */
const shownKept = 3;

/** Called when a thread stops running. Returns true to handle that state, so that the view shows nothing. */
export type OnRest = (state: ThreadStatus, steps: number) => boolean;

/** The view of a thread in `dev`. It follows all questions and answers until the thread ends or `leave` is called. */
export class LiveThread {
  readonly ref: ThreadRef;
  /** Resolves when the view ends. */
  readonly done: Promise<void>;
  readonly #session: Session;
  readonly #abort = new AbortController();
  readonly #view: View;
  readonly #kept: number;
  readonly #onRest: OnRest;
  /** The number of the thread's open question; null for none. */
  question: number | null = null;
  #steps = 0;
  #spinner: Spinner | null = null;

  constructor(session: Session, ref: ThreadRef, kept: number, onRest: OnRest) {
    this.ref = ref;
    this.#session = session;
    this.#view = new View(session.look);
    this.#kept = kept;
    this.#onRest = onRest;
    this.done = this.#show();
  }

  /** Ends the view. */
  async leave(): Promise<void> {
    this.#abort.abort();
    // Callers that await `done` receive the error.
    await this.done.catch(() => {});
  }

  /** Erases the progress lines until the next tick, so that other text can be written. */
  clear(): void {
    this.#spinner?.clear();
  }

  async #show(): Promise<void> {
    const { signal } = this.#abort;
    try {
      for await (const item of this.#session.host.observe(this.ref, undefined, { signal })) {
        if (signal.aborted || item.kind === "removed") return;
        await this.#item(item);
      }
    } finally {
      this.#rest();
    }
  }

  async #item(item: Observed): Promise<void> {
    if (item.kind === "step") this.#steps = item.number;
    const end = endOf(item);
    if (end && this.#onRest(end, this.#steps)) return;
    // The worker of a waiting thread exits, but the thread still waits.
    if (end?.status === "waiting" && this.question !== null) return;
    if (end?.status === "waiting") this.question = this.#steps;
    else if (item.kind === "step") this.question = null;
    if (this.#session.json) streamItem(this.#session, item, end, this.#steps);
    else this.#write(item);
    if (!end) return;
    this.#rest();
    if (!this.#session.json) await showEnd(this.#session, this.ref, end);
    if (end.status === "waiting") this.#session.note(whatNext(this.ref.threadId, end) ?? "");
  }

  #write(item: Observed): void {
    const hidden = this.#kept - shownKept;
    const text = this.#view.show(item);
    if (item.kind === "step" && item.number <= hidden) {
      if (item.number === hidden) this.#session.write(`  … ${count(hidden, "kept step")} before\n`);
      return;
    }
    if (item.kind === "status" && item.state.status === "running") this.#move();
    if (text === "") return;
    this.clear();
    this.#session.write(text);
  }

  #move(): void {
    const view = this.#view;
    this.#spinner ??= this.#session.spinner(() => (view.midLine ? [] : view.live(Date.now())));
  }

  #rest(): void {
    this.#spinner?.stop();
    this.#spinner = null;
  }
}
