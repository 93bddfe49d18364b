import type { RoleOutput } from "./contract.ts";
import { isRecord } from "./show.ts";
import { badFixture } from "./errors.ts";

/** The value of a fixture's `format`. It distinguishes a fixture from other values of the option `fixture`. */
export const fixtureFormat = "uncaged-workflow-fixture";

/**
 * A thread as a document: its prompt, its params and its steps, as in the log. Passed to another thread as the option
 * `fixture`, it replaces the execution of roles: the n-th execution of a role gets the n-th recorded output.
 */
export type Fixture = {
  format: typeof fixtureFormat;
  version: 1;
  /** The recorded thread, its workflow, and the hash of its version. */
  threadId: string;
  workflow: string;
  hash: string;
  prompt: string;
  params?: unknown;
  steps: RoleOutput[];
};

/**
 * Marks a `run` that calls `options.recorded`, when set, instead of executing a role. With the value `each`, it
 * executes the roles for which `recorded` returns null.
 */
export const answersFromFixture: unique symbol = Symbol.for(
  "uncaged.workflow.answersFromFixture",
) as never;

/** Returns the fixture in a thread's options; null without a fixture. @throws WorkflowError `BAD_FIXTURE`. */
export function fixtureIn({ fixture }: Readonly<Record<string, unknown>>): Fixture | null {
  return isRecord(fixture) && fixture.format === fixtureFormat ? checkFixture(fixture) : null;
}

/** Checks a fixture and drops unknown keys. @throws WorkflowError `BAD_FIXTURE`. */
export function checkFixture(value: unknown): Fixture {
  if (!isRecord(value) || value.format !== fixtureFormat) {
    throw badFixture(`missing "format": "${fixtureFormat}"`);
  }
  const { version, threadId, workflow, hash, prompt, params, steps } = value;
  if (version !== 1) throw badFixture(`its version is ${JSON.stringify(version)}, not 1`);
  for (const [name, text] of Object.entries({ threadId, workflow, hash, prompt })) {
    if (typeof text !== "string") throw badFixture(`its ${name} is not a text`);
  }
  if (!Array.isArray(steps)) throw badFixture("its steps are not a list");
  return {
    ...({ format: fixtureFormat, version, threadId, workflow, hash, prompt } as Fixture),
    ...(params !== undefined && { params }),
    steps: steps.map(checkStep),
  };
}

function checkStep(step: unknown, index: number): RoleOutput {
  const { role, content, meta } = isRecord(step) ? step : {};
  const isSound = typeof role === "string" && role !== "" && typeof content === "string";
  if (isSound && isRecord(meta)) return { role, content, meta };
  throw badFixture(`step ${index + 1} is not {role: a text, content: a text, meta: an object}`);
}
