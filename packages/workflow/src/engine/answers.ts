import type { Step } from "../contract/contract.ts";
import { messageOf } from "../contract/error.ts";
import type { WaitMeta } from "../contract/reserved.ts";
import type { InputRequest } from "../control/control.ts";
import { requestIdOf, takenIds } from "../thread/answered.ts";

/** Whom a refused answer is told to. `stepID` is that of the question, when it has one. */
export type RefusalParts = {
  note: (tag: string, content: string) => void;
  onRefused: (stepID: string | null, reason: string) => void;
};

/** The answers that a thread gets: of those with the same `requestId` one is given, and all get its reply. */
export class Answers {
  readonly #parts: RefusalParts;
  readonly #given: Map<string, Promise<void>>;

  /** `steps` are the committed ones: what they hold was given already. */
  constructor(steps: readonly Step[], parts: RefusalParts) {
    this.#parts = parts;
    this.#given = new Map(takenIds(steps).map((id) => [id, Promise.resolve()]));
  }

  /** Gives an answer to a question, if there is one; `take` commits it, or throws why it is refused. */
  give(input: InputRequest, wait: WaitMeta | null, take: () => Promise<void>): Promise<void> {
    const id = requestIdOf(input);
    if (id === undefined) return this.#told(wait, take);
    const before = this.#given.get(id);
    if (before) return before;
    const given = this.#told(wait, take);
    this.#given.set(id, given);
    given.catch(() => this.#given.delete(id));
    return given;
  }

  async #told(wait: WaitMeta | null, take: () => Promise<void>): Promise<void> {
    try {
      await take();
    } catch (error) {
      const reason = messageOf(error);
      this.#parts.note("7GX2W9QA", `answer refused: ${reason}`);
      this.#parts.onRefused(typeof wait?.stepID === "string" ? wait.stepID : null, reason);
      throw error;
    }
  }
}
