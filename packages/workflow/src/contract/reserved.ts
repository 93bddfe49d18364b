/** The role of the frame that a moderator sees before any step: the prompt. */
export const START = "__start__" as const;
/** What a moderator returns to stop; also the role of a log's last record. */
export const END = "__end__" as const;
/** The role of a step that asks for an answer from outside. */
export const WAIT = "__wait__" as const;
/** The role of the step that is the answer. */
export const INPUT = "__input__" as const;

export type START = typeof START;
export type END = typeof END;

/**
 * Meta of a `__wait__` step. `for` names what is waited for; an answer's value must fit `schema`;
 * after `expiresAt` (milliseconds since the epoch) no answer is taken and the thread goes on with
 * `onTimeout` as the value. An answer that brings a token must bring this `token`. Further keys are kept.
 */
export type WaitMeta = {
  for: string;
  schema?: import("./contract.ts").JsonSchema;
  expiresAt?: number;
  onTimeout?: unknown;
  token?: unknown;
  [key: string]: unknown;
};

/**
 * Meta of an `__input__` step. `value` is the answer as JSON when it is JSON; `timedOut` is true when
 * nobody answered in time; `requestId` is the sender's own, by which the same answer is known again.
 * Further keys are kept.
 */
export type InputMeta = {
  for?: string;
  value?: unknown;
  timedOut?: boolean;
  requestId?: unknown;
  [key: string]: unknown;
};
