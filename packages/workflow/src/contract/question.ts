import { INPUT, type RoleOutput, WAIT, type WaitMeta } from "./contract.ts";
import { type Answer, answerOf, sentInput, type WaitRequest, waitOutput } from "./wait.ts";

/** What was asked, and the answer. */
export type Answered<T = unknown> = { asked: WaitMeta; answer: Answer<T> };

/**
 * What a step's work may ask from outside while it goes on. The thread waits then, and what is asked and answered is in
 * the log before the step. If the process has ended meanwhile, the next execution of the step asks under the same id and
 * has the answer at once.
 */
export type Questions = {
  /** The answer that the log has to the question of this id. */
  answered(id: string): Answered | undefined;
  /**
   * Asks for `what`, unless the log has the answer.
   * @throws the reason of the thread's signal when it is aborted meanwhile.
   */
  ask(id: string, what: string, request: WaitRequest): Promise<Answered>;
};

/** Whether a step asks for the work of another one, which is not committed yet. */
export const isStepQuestion = ({ role, meta }: RoleOutput): boolean =>
  role === WAIT && typeof meta.stepQuestion === "string";

/** Asks a question of a step's work, and gives the `__input__` step. */
export type AskOutside = (wait: RoleOutput) => Promise<RoleOutput>;

/** The questions that steps have asked, with their answers: a fold of the log. */
export class QuestionLog {
  readonly #answers = new Map<string, Answered>();
  readonly #inputs = new Map<string, RoleOutput>();
  #asked: WaitMeta | null = null;

  /** Takes a committed step. Returns whether it is a question of a step, or the answer to one. */
  take(step: RoleOutput): boolean {
    const asked = this.#asked;
    this.#asked = isStepQuestion(step) ? (step.meta as WaitMeta) : null;
    if (this.#asked !== null || asked === null || step.role !== INPUT) return this.#asked !== null;
    this.#answers.set(String(asked.stepQuestion), { asked, answer: answerOf(step) });
    this.#inputs.set(String(asked.stepQuestion), step);
    return true;
  }

  /** The answer to a question that was given while it waited for its turn: another step has asked the same. */
  given({ meta }: RoleOutput): RoleOutput | undefined {
    return this.#inputs.get(String(meta.stepQuestion));
  }

  /** What the work of a step gets, whose questions are asked by `ask`. */
  for(ask: AskOutside, signal: AbortSignal | undefined): Questions {
    const answered = (id: string) => this.#answers.get(id);
    return {
      answered,
      async ask(id, what, request) {
        const known = answered(id);
        if (known) return known;
        const wait = waitOutput(what, { ...request, stepQuestion: id });
        const sent = await untilAborted(ask(wait), signal);
        return { asked: wait.meta as WaitMeta, answer: answerOf(sentInput(sent, what)) };
      },
    };
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal?.reason as Error);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
    void work.then(resolve, reject).finally(() => signal?.removeEventListener("abort", stop));
  });
}

/** A question that is to be yielded, and what takes its answer. */
export type OpenQuestion = { wait: RoleOutput; answer: (input: RoleOutput) => void };

/** Questions that the one work in progress asks, for a generator that yields them. */
export class AskedMeanwhile {
  readonly #queue: OpenQuestion[] = [];
  #wake: (() => void) | null = null;

  readonly ask: AskOutside = (wait) =>
    new Promise((answer) => {
      this.#queue.push({ wait, answer });
      this.#wake?.();
    });

  /** The next question; null when the work is over. */
  async next(work: Promise<unknown>): Promise<OpenQuestion | null> {
    const isOver = await new Promise<boolean>((resolve) => {
      const end = (): void => resolve(true);
      void work.then(end, end);
      this.#wake = () => resolve(false);
      if (this.#queue.length > 0) this.#wake();
    });
    return isOver ? null : (this.#queue.shift() ?? null);
  }
}
