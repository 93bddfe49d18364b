import {
  INPUT,
  type RecordedAnswers,
  type RoleOutput,
  WAIT,
  type WorkflowFn,
  type WorkflowOptions,
} from "../contract/contract.ts";
import { answersFromFixture, type Fixture, fixtureIn } from "../contract/fixture.ts";
import { isStepQuestion } from "../contract/question.ts";
import { memberKey, memberOf, tryOf } from "./output.ts";
import { fixtureUnsupported, noRecordedAnswer } from "./errors.ts";

/**
 * Returns the options of `run`: a thread's options, with the answers of their fixture, if any.
 *
 * @throws WorkflowError `BAD_FIXTURE`; `FIXTURE_UNSUPPORTED` for a `run` that executes its roles despite a fixture.
 */
export function withRecorded(run: WorkflowFn, options: WorkflowOptions): WorkflowOptions {
  const fixture = fixtureIn(options);
  if (fixture === null) return options;
  if (answersFromFixture in run) return { ...options, recorded: recordedAnswers(fixture) };
  throw fixtureUnsupported();
}

function recordedAnswers({ steps, threadId }: Fixture): RecordedAnswers {
  const byKey = Map.groupBy(steps, keyOf);
  return (role, n, member = null) => {
    const answer = byKey.get(memberKey(role, member))?.[n - 1];
    if (answer) return withoutTraces(answer);
    throw noRecordedAnswer(threadId, role, n);
  };
}

/**
 * Returns the key of the execution that produced a step; null for an answer, a failed try, and a question of a running
 * step.
 */
function keyOf(step: RoleOutput): string | null {
  const { role, meta } = step;
  if (role === INPUT || tryOf(step) !== null || isStepQuestion(step)) return null;
  // A role returned this question.
  if (role === WAIT) return typeof meta.role === "string" ? memberKey(meta.role, null) : null;
  return memberKey(role, memberOf(step));
}

// Removes the spending and the worktree of a step: they belong to the recorded thread.
function withoutTraces({ role, content, meta }: RoleOutput): RoleOutput {
  const { usage: _usage, cost: _cost, models: _models, worktree: _worktree, ...rest } = meta;
  return { role, content, meta: rest };
}
