import { INPUT, type RoleOutput, WAIT, type WaitMeta } from "./contract.ts";
import { type Answer, answerOf, sentInput, type WaitRequest, waitOutput } from "./wait.ts";

/** A question and its answer. */
export type Answered<T = unknown> = { asked: WaitMeta; answer: Answer<T> };

/**
 * Questions of a running step. The thread waits for the answer; the log has question and answer before the step. If the
 * process ends meanwhile, the next execution of the step asks with the same id and gets the answer at once.
 */
export type Questions = {
  /** Returns the answer in the log to the question with this id. */
  answered(id: string): Answered | undefined;
  /**
   * Asks for `what` and waits for the answer. Returns the answer at once if the log has it.
   * @throws the abort reason of the thread's signal.
   */
  ask(id: string, what: string, request: WaitRequest): Promise<Answered>;
};

/** Returns whether a step is a question asked by another step that is still running. */
export const isStepQuestion = ({ role, meta }: RoleOutput): boolean =>
  role === WAIT && typeof meta.stepQuestion === "string";

/** Asks a running step's question; resolves with the `__input__` step. */
export type AskOutside = (wait: RoleOutput) => Promise<RoleOutput>;

/** The questions of running steps and their answers, collected from the log. */
export class QuestionLog {
  readonly #answers = new Map<string, Answered>();
  readonly #inputs = new Map<string, RoleOutput>();
  #asked: WaitMeta | null = null;

  /** Adds a committed step. Returns whether it is a question of a running step, or the answer to such a question. */
  take(step: RoleOutput): boolean {
    const asked = this.#asked;
    this.#asked = isStepQuestion(step) ? (step.meta as WaitMeta) : null;
    if (this.#asked !== null || asked === null || step.role !== INPUT) return this.#asked !== null;
    this.#answers.set(String(asked.stepQuestion), { asked, answer: answerOf(step) });
    this.#inputs.set(String(asked.stepQuestion), step);
    return true;
  }

  /** Returns the `__input__` step for a question if the log already has it, because an equal question was asked. */
  given({ meta }: RoleOutput): RoleOutput | undefined {
    return this.#inputs.get(String(meta.stepQuestion));
  }

  /** Returns the `Questions` of a step. `ask` asks a question that the log does not answer. */
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

/** A question to yield, and the callback that receives its answer. */
export type OpenQuestion = { wait: RoleOutput; answer: (input: RoleOutput) => void };

/** The queue of questions that a running task has asked, for the generator that yields them. */
export class AskedMeanwhile {
  readonly #queue: OpenQuestion[] = [];
  #wake: (() => void) | null = null;

  readonly ask: AskOutside = (wait) =>
    new Promise((answer) => {
      this.#queue.push({ wait, answer });
      this.#wake?.();
    });

  /** Returns the next question; null when the work has ended. */
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
