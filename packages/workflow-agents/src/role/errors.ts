import type { WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";

/* The errors of roles. */

const badHandoff = (problem: string): WorkflowError =>
  misuse("BAD_HANDOFF", `a handoff ${problem}`, "name each role that may continue, once");

export const noHandoffRole = (): WorkflowError => badHandoff("names no role");

/** Returns the error for a reserved, blank or repeated role name. */
export const badHandoffRole = (name: string): WorkflowError =>
  badHandoff(`can't name the role ${JSON.stringify(name)}`);

export const noFallbackAgents = (): WorkflowError =>
  misuse("BAD_FALLBACK", "fallback needs a list of agents", "pass one agent or more");

export const badFallbackOn = (): WorkflowError =>
  misuse(
    "BAD_FALLBACK",
    "fallback's on must be a list of codes or a function",
    'such as ["service_unavailable"], or a function',
  );

export const spendingField = (name: string): WorkflowError =>
  misuse(
    "RESERVED_FIELD",
    `a role's schema has the field ${name}, which records a step's spending`,
    "give the field another name",
  );

export const invalidOption = (
  option: string,
  given: unknown,
  words: readonly string[],
): WorkflowError =>
  misuse(
    "BAD_ROLE",
    `a role's ${option} can't be ${JSON.stringify(given)}`,
    `use ${words.join(" or ")}`,
  );

/** Returns the error for an agent that did not return a string. `kind` describes the returned value. */
export const answerNotText = (kind: string): WorkflowError =>
  failure(
    "BAD_AGENT_RESULT",
    `the agent returned ${kind}, not a string`,
    "return the agent's text from the AgentFn",
  );

export const badDepth = (name: string, depth: number): WorkflowError =>
  misuse(
    "BAD_DEPTH",
    `the role ${name} can't be called ${String(depth)} levels deep`,
    "set maxDepth to a whole number from 1",
  );

const withoutIt = "do the work without calling this role";

/** Returns the error for a role that calls itself. `path` has the names of the calling roles, joined by arrows. */
export const roleRecursion = (name: string, path: string): WorkflowError =>
  failure(
    "ROLE_RECURSION",
    `the role ${name} is already running and can't call itself: ${path}`,
    withoutIt,
  );

export const roleTooDeep = (name: string, path: string): WorkflowError =>
  failure(
    "ROLE_TOO_DEEP",
    `the role ${name} can't be called: too many levels of roles: ${path}`,
    withoutIt,
  );

export const roleWithoutThread = (name: string): WorkflowError =>
  failure(
    "NO_THREAD",
    `the role ${name} can only be called by an agent in a thread`,
    "set the thread in the tools' context",
  );
