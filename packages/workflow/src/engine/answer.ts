import {
  INPUT,
  type InputMeta,
  type JsonSchema,
  type RoleOutput,
  type Step,
  type WaitMeta,
} from "../contract/contract.ts";
import { decidedValue } from "../contract/decision.ts";
import { messageOf } from "../contract/error.ts";
import { exactJson, losslessJson, roundedIn } from "../contract/exact.ts";
import { answererOf } from "../control/answered-by.ts";
import { type AnswerRequest, type InputRequest } from "../control/control.ts";
import { isRecord } from "../contract/show.ts";
import { requestIdOf, takenIds } from "../record/selection.ts";
import { sleep } from "./generator.ts";
import {
  invalidAnswer,
  lateAnswer,
  notADecision,
  notWaiting,
  staleAnswer,
  threadSleeps,
  wrongToken,
} from "./errors.ts";

// Maximum duration of a timer in milliseconds. A timer stops while the machine sleeps, and ignores changes of the
// clock.
const longestTimer = 10_000;

/** A compiled schema, or the problem of the schema. `validate` returns the reason for an invalid value, else null. */
type Compiled = { validate: (value: unknown) => string | null } | { problem: string };

/** Compiles the schema of a question. */
export type SchemaJudge = (schema: JsonSchema) => Promise<Compiled>;

/** Returns the problem of a `__wait__` step's schema, null without a problem. */
export async function schemaProblem(wait: WaitMeta, judge: SchemaJudge): Promise<string | null> {
  if (wait.schema === undefined) return null;
  const compiled = await judge(wait.schema);
  return "problem" in compiled ? `meta.schema is not a JSON Schema: ${compiled.problem}` : null;
}

/** Dependencies of questions and answers outside of the engine. */
export type AnswerParts = {
  judge: SchemaJudge;
  /** Milliseconds since the epoch. */
  now: () => number;
  note: (tag: string, content: string) => void;
  /** Called for a refused answer, with the `stepID` of its question, if any. */
  onRefused: (stepID: string | null, reason: string) => void;
};

/** Dependencies of questions and answers that the engine provides. */
type Committing = {
  threadId: string;
  /** Commits an `__input__` step. @throws WorkflowError when the thread has ended, or the log can't be written. */
  commit: (output: RoleOutput) => Promise<Step>;
  /** Called when a step can't be committed. */
  onBroken: (error: unknown) => void;
};

/** Tag of a refused answer in the debug log. */
export const refusedTag = "7GX2W9QA";
/** Returns the text of a refused answer in the debug log. */
export const refusedNote = (reason: string): string => `answer refused: ${reason}`;

const done = Promise.resolve();

/** An answer, and the number of its question if the sender names it. */
export type GivenAnswer = Pick<AnswerRequest, "input" | "question">;

/** A `__wait__` step, and its number in its thread. */
export type AskedQuestion = { number: number; wait: WaitMeta };

type Question = AskedQuestion & { answer: PromiseWithResolvers<Step>; over: AbortController };

/**
 * The open question of a thread, and its answers. Of several answers with the same `requestId` only one is accepted,
 * and all get its reply.
 */
export class Answers {
  readonly #parts: AnswerParts;
  readonly #engine: Committing;
  readonly #given: Map<string, Promise<void>>;
  #question: Question | null = null;
  /** The check of an answer in progress; the promise never rejects. */
  #taking: Promise<void> | null = null;

  /** @param steps The committed steps. Answers among them count as accepted. */
  constructor(steps: readonly Step[], parts: AnswerParts, engine: Committing) {
    this.#parts = parts;
    this.#engine = engine;
    this.#given = new Map();
    for (const id of takenIds(steps)) this.#given.set(id, done);
  }

  /** The open question; null when the thread does not wait. */
  get wait(): WaitMeta | null {
    return this.#question?.wait ?? null;
  }

  /** Opens a question: the last committed step, which has this number. */
  ask(wait: WaitMeta, number: number): void {
    this.#question = { wait, number, answer: Promise.withResolvers(), over: new AbortController() };
  }

  /** Resolves with the committed `__input__` step: an answer, or the step for a timeout. */
  async answered(): Promise<Step> {
    const question = this.#question as Question;
    void this.#timeOut(question);
    return await question.answer.promise;
  }

  /** Closes the question. */
  close(): void {
    this.#question?.over.abort();
    this.#question = null;
  }

  /**
   * Accepts an answer. Its step is durable when this resolves. Logs a refusal.
   * @throws WorkflowError `NOT_WAITING`, `STALE_ANSWER`, `ANSWER_TOKEN`, `ANSWER_LATE`, `NOT_A_DECISION`,
   * `ANSWER_INVALID`.
   */
  give(input: InputRequest, question?: number): Promise<void> {
    const id = requestIdOf(input);
    const before = id === undefined ? undefined : this.#given.get(id);
    if (before) return before;
    const given = this.#take(input, question);
    if (id === undefined) return given;
    this.#given.set(id, given);
    void this.#forgetRefused(id, given);
    return given;
  }

  async #forgetRefused(id: string, given: Promise<void>): Promise<void> {
    try {
      await given;
    } catch {
      this.#given.delete(id);
    }
  }

  async #take(input: InputRequest, number: number | undefined): Promise<void> {
    const question = this.#question;
    try {
      // Answers that arrive during a check wait; each is checked if the earlier answer is refused.
      while (this.#taking) await this.#taking;
      if (!question || this.#question !== question) throw notWaiting(this.#engine.threadId);
      await this.#alone(async () => {
        const { threadId } = this.#engine;
        const answer = { input, question: number };
        await this.#commit(question, await answerStep(threadId, question, answer, this.#parts));
      });
    } catch (error) {
      const stepID = question?.wait.stepID;
      const reason = messageOf(error);
      this.#parts.note(refusedTag, refusedNote(reason));
      this.#parts.onRefused(typeof stepID === "string" ? stepID : null, reason);
      // The question may have expired during the check.
      if (question && isOver(question.wait, this.#parts.now())) void this.#timeOut(question);
      throw error;
    }
  }

  async #timeOut(question: Question): Promise<void> {
    const { wait, over } = question;
    if (wait.expiresAt === undefined) return;
    while (!over.signal.aborted && !isOver(wait, this.#parts.now())) {
      const left = wait.expiresAt - this.#parts.now();
      await sleep(Math.min(left, longestTimer), over.signal);
    }
    if (!over.signal.aborted) await this.wake();
  }

  /**
   * Continues a thread whose timeout has passed. Its step is durable when this resolves. Returns false before the
   * timeout, if the thread does not wait, or if another call already continues the thread.
   */
  async wake(): Promise<boolean> {
    const question = this.#question;
    if (!question || this.#taking || !isOver(question.wait, this.#parts.now())) return false;
    const { wait } = question;
    const what = wait.sleep === true ? "the sleep has ended" : `no answer to ${wait.for} in time`;
    this.#parts.note("M3T8KD0V", what);
    const step = timeoutStep(wait);
    try {
      await this.#alone(() => this.#commit(question, step));
      return true;
    } catch (error) {
      this.#engine.onBroken(error);
      return false;
    }
  }

  async #alone(take: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#taking = promise;
    try {
      await take();
    } finally {
      this.#taking = null;
      resolve();
    }
  }

  async #commit(question: Question, output: RoleOutput): Promise<void> {
    const step = await this.#engine.commit(output);
    if (this.#question === question) this.close();
    question.answer.resolve(step);
  }
}

/**
 * Returns the `__input__` step for an answer. An answer that names its question, by number or token, is refused for any
 * other question, because its sender has not seen that question.
 * @throws WorkflowError `SLEEPING`, `STALE_ANSWER`, `ANSWER_TOKEN`, `ANSWER_LATE`, `NOT_A_DECISION`, `ANSWER_INVALID`.
 */
export async function answerStep(
  threadId: string,
  { number, wait }: AskedQuestion,
  { input: given, question }: GivenAnswer,
  { judge, now }: Pick<AnswerParts, "judge" | "now">,
): Promise<RoleOutput> {
  if (wait.sleep === true) throw sleeping(threadId, wait);
  if (question !== undefined && question !== number) throw staleAnswer(threadId, question, number);
  const token = given.meta?.token;
  if (token !== undefined && token !== wait.token) throw wrongToken(threadId, wait.for);
  if (isOver(wait, now())) throw lateAnswer(threadId, wait.for, isoTime(wait.expiresAt));
  const { input, violation } = await readAnswer(wait, given, judge);
  if (violation !== null) throw invalidAnswer(threadId, wait, violation);
  const meta: InputMeta = { ...input.meta, for: wait.for, by: answererOf(given) };
  if ("value" in input) meta.value = input.value;
  return { role: INPUT, content: input.content, meta };
}

/**
 * Parses an answer, and returns the reason if its value does not fit the question's schema. A text stays text if the
 * schema accepts text; otherwise it is parsed as JSON. Without a schema only exact JSON is parsed.
 * @throws WorkflowError `NOT_A_DECISION` (usage)
 */
export async function readAnswer(
  wait: WaitMeta,
  given: InputRequest,
  judge: SchemaJudge,
): Promise<{ input: InputRequest; violation: string | null }> {
  const decided = withDecision(wait, given);
  const { schema } = wait;
  if (schema === undefined) return { input: withExactJson(decided), violation: null };
  const compiled = await judge(schema);
  if ("problem" in compiled) return { input: decided, violation: compiled.problem };
  const { validate } = compiled;
  const { content, value } = takesAll(schema) ? withExactJson(decided) : decided;
  if (value !== undefined) return { input: { ...decided, value }, violation: validate(value) };
  const asText = validate(content);
  const json = asText === null || takesAll(schema) ? null : losslessJson(content);
  if (json === null) {
    if (asText === null || takesText(schema)) return { input: decided, violation: asText };
    const isTyped = isRecord(schema) && schema.type !== undefined;
    const notJson = isTyped ? `${asText}, and the text is not JSON` : asText;
    return { input: decided, violation: roundedNumber(content) ?? notJson };
  }
  const asJson = validate(json.value);
  if (asJson !== null && takesText(schema)) return { input: decided, violation: asText };
  return { input: { ...decided, ...json }, violation: asJson };
}

/** Returns the problem of a JSON text with a number that parsing would round; null for any other text. */
function roundedNumber(text: string): string | null {
  const rounded = roundedIn(text);
  if (rounded === null) return null;
  try {
    JSON.parse(text);
    return `the number ${rounded.text} can't be kept exactly: write it as a string, in quotes`;
  } catch {
    return null;
  }
}

/** Sets an answer's value to the exact JSON of its text, unless the value is given. */
export const withExactJson = (input: InputRequest): InputRequest =>
  input.value === undefined ? { ...input, ...exactJson(input.content) } : input;

const annotations: ReadonlySet<string> = new Set(
  "$schema $id $comment title description default examples".split(" "),
);

const takesAll = (schema: JsonSchema): boolean =>
  schema === true || (isRecord(schema) && Object.keys(schema).every((key) => annotations.has(key)));

const takesText = (schema: JsonSchema): boolean =>
  isRecord(schema) && [schema.type].flat().includes("string");

/**
 * Converts an answer to the decision that its question asks for; returns any other answer unchanged.
 * @throws WorkflowError `NOT_A_DECISION` (usage)
 */
function withDecision(wait: WaitMeta, input: InputRequest): InputRequest {
  const { content, value = losslessJson(content)?.value ?? content } = input;
  const decided = decidedValue(wait, value);
  if (decided === undefined) return input;
  if (decided !== null) return { ...input, content: JSON.stringify(decided), value: decided };
  const given = typeof value === "string" ? value : JSON.stringify(value);
  throw notADecision(wait.for, given);
}

/** Returns the `__input__` step for a timeout or the end of a sleep. */
export function timeoutStep(wait: WaitMeta): RoleOutput {
  const meta: InputMeta = { for: wait.for, timedOut: true };
  if (wait.sleep === true) meta.sleep = true;
  if (wait.onTimeout !== undefined) meta.value = wait.onTimeout;
  return { role: INPUT, content: "", meta };
}

/** Returns whether the time to answer a question has passed. */
export const isOver = ({ expiresAt }: WaitMeta, now: number): boolean =>
  expiresAt !== undefined && now >= expiresAt;

/** Returns the error for a sleeping thread, which can be neither answered nor resumed. */
export const sleeping = (threadId: string, { expiresAt }: WaitMeta) =>
  threadSleeps(threadId, isoTime(expiresAt));

const isoTime = (at: number | undefined): string => {
  const date = new Date(at ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? `${at} ms since 1970` : date.toISOString();
};
