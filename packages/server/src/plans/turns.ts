import type { PlannerSession, StreamCallbacks } from "@uncaged/workflow-plan";
import type { Planning, Turned } from "@uncaged/workflow-plan/service";
import { toErrorRecord } from "@uncaged/workflow/host";
import type { PlannerEvents } from "../schema/plan.ts";
import type { Source } from "../stream/connections.ts";
import { type Bytes, sseBytes } from "../stream/sse.ts";

/** What takes a turn: the planner, and the session that the turn is of. */
export type Begun = { planning: Planning; session: PlannerSession };

/** The turns with the planner that this server takes, by their sessions. */
export class Turns {
  readonly #atWork = new Map<string, Turn>();

  /** Takes a turn, and gives what listens to it. Who leaves it does not end the turn. */
  begin(open: () => Promise<Begun>, text: string): Source {
    const turn = new Turn(text);
    void turn
      .take(async () => {
        const begun = await open();
        const { id } = begun.session;
        // Of two turns in one session the second is refused, and the first is the one that goes on.
        if (!this.#atWork.has(id)) this.#atWork.set(id, turn);
        return begun;
      })
      .finally(() => {
        for (const [id, one] of this.#atWork) if (one === turn) this.#atWork.delete(id);
      });
    return turn.listen();
  }

  /** The turn that goes on in a session; null when none does here. */
  find(session: string): Turn | null {
    return this.#atWork.get(session) ?? null;
  }
}

/** One turn, with all that it has sent, for those who come later too. It ends with the turn, or with the error in its place. */
class Turn {
  readonly #text: string;
  readonly #abort = new AbortController();
  readonly #sent: Bytes[] = [];
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
    this.#more.resolve();
  }

  /** Stops the model; what it has written of this turn is dropped. */
  stop(): void {
    this.#abort.abort();
  }

  #send<Name extends keyof PlannerEvents>(
    name: Name,
    data: Name extends "turn" ? Turned : PlannerEvents[Name],
  ): void {
    this.#sent.push(sseBytes(name, data));
    const { resolve } = this.#more;
    this.#more = Promise.withResolvers();
    resolve();
  }

  listen(): Source {
    let next = 0;
    let isClosed = false;
    return {
      next: async () => {
        while (next >= this.#sent.length && !this.#isOver && !isClosed) await this.#more.promise;
        const bytes = Buffer.concat(this.#sent.slice(next));
        next = this.#sent.length;
        return bytes.length > 0 && !isClosed ? bytes : null;
      },
      close: () => {
        isClosed = true;
      },
    };
  }
}
