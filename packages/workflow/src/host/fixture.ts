import { INPUT, type RoleOutput, type Step, WAIT } from "../contract/contract.ts";
import { type Fixture, fixtureFormat } from "../contract/fixture.ts";
import { isRecord } from "../contract/show.ts";
import { isQuestion } from "../contract/wait.ts";
import type { InputRequest } from "../control/control.ts";
import type { ThreadView } from "../record/thread.ts";
import { inputOf, type TestAnswer } from "../control/test-answer.ts";
import { corruptNotExported } from "./errors.ts";

/**
 * Converts a thread's log to a fixture, without its environment and debug log.
 *
 * @throws WorkflowError `LOG_CORRUPT`.
 */
export function fixtureOf(view: ThreadView): Fixture {
  const { threadId, workflow, hash, prompt, params, steps } = view;
  if (view.status === "corrupt") throw corruptNotExported(threadId);
  return {
    ...({ format: fixtureFormat, version: 1, threadId, workflow, hash, prompt } as const),
    ...(params !== undefined && { params }),
    steps: steps.map(({ role, content, meta }) => ({ role, content, meta })),
  };
}

/** Returns a fixture's answer to the question at the end of `log`, or null. */
export function recordedInput({ steps }: Fixture, log: readonly Step[]): InputRequest | null {
  const asked = log.at(-1);
  if (asked?.role !== WAIT) return null;
  const key = questionOf(asked);
  const isSame = (step: RoleOutput) => step.role === WAIT && questionOf(step) === key;
  const n = log.filter(isSame).length;
  const index = steps.findIndex(
    (step, at) => isSame(step) && steps.slice(0, at + 1).filter(isSame).length === n,
  );
  const given = index < 0 ? undefined : steps[index + 1];
  if (given?.role !== INPUT) return null;
  // The token belongs to the question of the recorded thread.
  const { token: _, value, ...meta } = given.meta;
  const answer = { content: given.content, ...(value !== undefined && { value }) };
  return { ...answer, meta: { ...meta, requestId: `fixture ${log.length}` } };
}

/** Returns the answer to the question at the end of `log`, or null. `answers` has the order of the questions. */
export function givenInput(
  answers: readonly TestAnswer[],
  log: readonly Step[],
): InputRequest | null {
  const questions = log.filter(isQuestion);
  const answer = questions.at(-1) === log.at(-1) ? answers[questions.length - 1] : undefined;
  if (answer === undefined) return null;
  const { meta, ...input } = inputOf(answer);
  return { ...input, meta: { ...meta, requestId: `answer ${questions.length}` } };
}

/**
 * Identifies a question by role and subject, or a running step's question by its id. The result is the same in all
 * threads of a workflow.
 */
function questionOf({ meta }: RoleOutput): string {
  const { nodeId, role, stepID, stepId, stepQuestion } = meta;
  return JSON.stringify([meta.for, role, nodeId, stepID, stepId, pathIn(meta), stepQuestion]);
}

/** Returns the path of a step without thread ids: the run id of a child workflow contains its thread's id. */
const pathIn = ({ path }: RoleOutput["meta"]): unknown =>
  Array.isArray(path)
    ? path.map((part: unknown) => (isRecord(part) ? { ...part, run: undefined } : part))
    : path;

/** The JSON Schema of a fixture, which is published for editors and other programs. */
export const fixtureSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "A fixture of uncaged-workflow",
  description: "A recorded thread that answers the roles of another thread: see thread --fixture.",
  type: "object",
  required: ["format", "version", "threadId", "workflow", "hash", "prompt", "steps"],
  properties: {
    format: { const: fixtureFormat },
    version: { const: 1 },
    threadId: { type: "string", description: "The id of the recorded thread." },
    workflow: { type: "string", description: "The name of the thread's workflow." },
    hash: { type: "string", description: "The hash of the version that the thread ran." },
    prompt: { type: "string" },
    params: { description: "The thread's params; absent without params." },
    steps: {
      type: "array",
      description: "The steps as in the log. The n-th step of a role answers its n-th execution.",
      items: {
        type: "object",
        required: ["role", "content", "meta"],
        properties: {
          role: { type: "string", minLength: 1 },
          content: { type: "string" },
          meta: { type: "object" },
        },
      },
    },
  },
} as const;
