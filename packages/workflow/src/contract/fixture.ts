import type { RoleOutput } from "./contract.ts";
import { WorkflowError } from "./error.ts";
import { isRecord } from "./show.ts";

/** What a fixture's `format` is: nothing else in a thread's options is taken for one. */
export const fixtureFormat = "uncaged-workflow-fixture";

/**
 * A thread as a document: its prompt, its params and its steps, as the log has them. As the option `fixture` of another
 * thread it answers that thread's roles: the n-th execution of a role gets what the n-th one recorded.
 */
export type Fixture = {
  format: typeof fixtureFormat;
  version: 1;
  /** The thread that was recorded, its workflow, and the hash of the version that it ran. */
  threadId: string;
  workflow: string;
  hash: string;
  prompt: string;
  params?: unknown;
  steps: RoleOutput[];
};

/** A `run` with this property asks `options.recorded`, where there is one, in place of executing a role. */
export const answersFromFixture: unique symbol = Symbol.for(
  "uncaged.workflow.answersFromFixture",
) as never;

/** The fixture that a thread's options hold, null for none. @throws WorkflowError `BAD_FIXTURE`. */
export function fixtureIn({ fixture }: Readonly<Record<string, unknown>>): Fixture | null {
  return isRecord(fixture) && fixture.format === fixtureFormat ? checkFixture(fixture) : null;
}

/** A value that is a fixture, with what is known of one. @throws WorkflowError `BAD_FIXTURE`. */
export function checkFixture(value: unknown): Fixture {
  if (!isRecord(value) || value.format !== fixtureFormat) {
    throw badFixture(`it has no "format": "${fixtureFormat}"`);
  }
  const { version, threadId, workflow, hash, prompt, params, steps } = value;
  if (version !== 1) throw badFixture(`its version is ${JSON.stringify(version)}, not 1`);
  for (const [name, text] of Object.entries({ threadId, workflow, hash, prompt })) {
    if (typeof text !== "string") throw badFixture(`its ${name} is no text`);
  }
  if (!Array.isArray(steps)) throw badFixture("its steps are no list");
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
  throw badFixture(`step ${index + 1} is no {role: a text, content: a text, meta: an object}`);
}

const badFixture = (what: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_FIXTURE",
    `this is no fixture: ${what}`,
    "export one: uncaged-workflow thread <id> --fixture",
  );
