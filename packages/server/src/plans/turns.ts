import type { PlannerSession, StreamCallbacks } from "@uncaged/workflow-plan";
import type { Planning, Turned } from "@uncaged/workflow-plan/service";
import { toErrorRecord } from "@uncaged/workflow/host";
import type { PlannerEvents } from "../schema/plan.ts";
import { type Message, type Messages, messageOf } from "../stream/streams.ts";

/** The planner and the session of a turn. */
export type Begun = { planning: Planning; session: PlannerSession };

/** The running planner turns of this server, by session. */
export class Turns {
  readonly #atWork = new Map<string, Turn>();

  /** Starts a turn and returns its messages. The turn continues if the listener leaves. */
  begin(open: () => Promise<Begun>, text: string, signal: AbortSignal): Messages {
    const turn = new Turn(text);
    void turn
      .take(async () => {
        const begun = await open();
        const { id } = begun.session;
        // The planner refuses a second concurrent turn in a session. The first turn must stay in the map.
        if (!this.#atWork.has(id)) this.#atWork.set(id, turn);
        return begun;
      })
      .finally(() => {
        for (const [id, one] of this.#atWork) if (one === turn) this.#atWork.delete(id);
      });
    return turn.listen(signal);
  }

  /** Returns the running turn of a session; null if this server runs none. */
  find(session: string): Turn | null {
    return this.#atWork.get(session) ?? null;
  }
}

/** One turn, with all its messages for later listeners. Ends when the turn ends or fails. */
class Turn {
  readonly #text: string;
  readonly #abort = new AbortController();
  readonly #sent: Message[] = [];
  #more = Promise.withResolvers<void>();
  #isOver = false;

  constructor(text: string) {
    this.#text = text;
  }

  async take(open: () => Promise<Begun>): Promise<void> {
    try {
      const { planning, session } = await open();
      this.#send("begin", { session: session.id, text: this.#text });
      const callbacks: StreamCallbacks = {
        signal: this.#abort.signal,
        onToken: (text) => this.#send("token", { text }),
      };
      this.#send("turn", await planning.turn(session, this.#text, callbacks));
    } catch (error) {
      const { code, hint = null, message } = toErrorRecord(error);
      this.#send("error", { code, message, hint });
    }
    this.#isOver = true;
    this.#wake();
  }

  /** Stops the model and discards its output of this turn. */
  stop(): void {
    this.#abort.abort();
  }

  #send<Name extends keyof PlannerEvents>(
    name: Name,
    data: Name extends "turn" ? Turned : PlannerEvents[Name],
  ): void {
    this.#sent.push(messageOf(name, data));
    this.#wake();
  }

  #wake(): void {
    const { resolve } = this.#more;
    this.#more = Promise.withResolvers();
    resolve();
  }

  /** Yields all messages, past and future, until the turn is over or the signal is aborted. */
  async *listen(signal: AbortSignal): Messages {
    const wake = (): void => this.#wake();
    signal.addEventListener("abort", wake);
    for (let next = 0; !signal.aborted; ) {
      const message = this.#sent[next];
      if (message === undefined && this.#isOver) break;
      if (message === undefined) await this.#more.promise;
      else next += 1;
      if (message !== undefined) yield message;
    }
    signal.removeEventListener("abort", wake);
  }
}
