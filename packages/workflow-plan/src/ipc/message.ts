import type { Subtask } from "../agent/agent.ts";

/*
 * The messages between the tools of a step and the process that runs it: files in `output/`, each answered by a file
 * of the same name in `input/`. The folder identifies the run and the step; ids inside are ignored.
 */

/** A call of a tool. */
export type StepMessage =
  | { type: "progress"; message: string }
  | { type: "notify"; message: string }
  | { type: "context" }
  | { type: "subtask"; subtask: Subtask };

/** A reply to a call. `instruction` is not a reply, but the user's addition to the step's task. */
export type StepReply =
  | { type: "done"; value: unknown }
  | { type: "refused"; error: string }
  | { type: "instruction"; text: string };

/** The variable with the names of the step's secrets, for its tools. */
export const secretsVariable = "UNCAGED_PLAN_SECRETS";

/** The maximum size of a file in bytes, and the pattern of its name. */
export const mostBytes = 1024 * 1024;
export const fileForm = /^[\w-][\w.-]{0,200}\.json$/;

const longestMessage = 10_000;

const isText = (value: unknown): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= longestMessage;

/** Parses a message of a step; null if invalid. */
export function messageIn(text: string): StepMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || !("type" in value)) return null;
  const { message, subtask, type } = value as {
    type: unknown;
    message?: unknown;
    subtask?: unknown;
  };
  switch (type) {
    case "progress":
    case "notify":
      return isText(message) ? { type, message } : null;
    case "context":
      return { type };
    case "subtask": {
      if (typeof subtask !== "object" || subtask === null) return null;
      const { depends_on, description, id, inputs } = subtask as Subtask;
      return {
        type,
        subtask: { ...(id !== undefined && { id }), description, inputs, depends_on },
      };
    }
    default:
      return null;
  }
}

/** Orders files by name. */
export const inOrder = (name: string, other: string): number => (name < other ? -1 : 1);
