import {
  INPUT,
  type RecordedAnswers,
  type RoleOutput,
  WAIT,
  type WorkflowFn,
  type WorkflowOptions,
} from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { answersFromFixture, type Fixture, fixtureIn } from "../contract/fixture.ts";
import { isStepQuestion } from "../contract/question.ts";
import { show } from "../contract/show.ts";
import { memberKey, memberOf, tryOf } from "./output.ts";

/**
 * A thread's options as `run` gets them: with the answers of the fixture that is in them, if there is one.
 *
 * @throws WorkflowError `BAD_FIXTURE`; `FIXTURE_UNSUPPORTED` of a `run` that would execute its roles all the same.
 */
export function withRecorded(run: WorkflowFn, options: WorkflowOptions): WorkflowOptions {
  const fixture = fixtureIn(options);
  if (fixture === null) return options;
  if (answersFromFixture in run) return { ...options, recorded: recordedAnswers(fixture) };
  throw WorkflowError.failed(
    "FIXTURE_UNSUPPORTED",
    "this version can't be answered from a fixture: it is a plain generator, whose own code makes its steps, or was built before fixtures",
    "write it with createRoleModerator or durable, or build it again; or run it without a fixture",
  );
}

function recordedAnswers({ steps, threadId }: Fixture): RecordedAnswers {
  const byKey = Map.groupBy(steps, keyOf);
  return (role, n, member = null) => {
    const answer = byKey.get(memberKey(role, member))?.[n - 1];
    if (answer) return withoutTraces(answer);
    throw WorkflowError.failed(
      "NO_RECORDED_ANSWER",
      `the fixture of ${threadId} has no answer for execution ${n} of role ${show(role)}`,
      "give the case the fixture of a thread that went this way, or none to have the role executed",
    );
  };
}

/** Which execution a step came of; null for an answer, a failed try, and what was asked by the way. */
function keyOf(step: RoleOutput): string | null {
  const { role, meta } = step;
  if (role === INPUT || tryOf(step) !== null || isStepQuestion(step)) return null;
  // A role that returned a question has asked it.
  if (role === WAIT) return typeof meta.role === "string" ? memberKey(meta.role, null) : null;
  return memberKey(role, memberOf(step));
}

// The recorded thread has paid for it, so that no ledger counts it again, and has its files.
function withoutTraces({ role, content, meta }: RoleOutput): RoleOutput {
  const { usage: _usage, cost: _cost, models: _models, worktree: _worktree, ...rest } = meta;
  return { role, content, meta: rest };
}
