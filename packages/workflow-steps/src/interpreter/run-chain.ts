import { WorkflowError } from "@uncaged/workflow";
import { ENTRY } from "../document/constants.ts";
import type { MarkChanges } from "../state/marks.ts";
import { startAt } from "../state/position.ts";
import { type Chain, type ChainEnd, isEnd } from "./chain.ts";
import { Failure } from "./failure.ts";
import { runEntries } from "./fork.ts";
import type { Interpreter } from "./interpreter.ts";
import { runStep } from "./step.ts";
import { typeName } from "./task.ts";

/**
 * Runs a chain from where it stands to its end.
 *
 * @throws Failure for a step that failed; the signal's reason when the chain was aborted.
 */
export async function runChain(interpreter: Interpreter, chain: Chain): Promise<ChainEnd> {
  const { steps } = interpreter.run.workflow.outline;
  let skipped = 0;
  for (;;) {
    const { next } = chain.position;
    if (isEnd(next)) {
      await commitMarks(interpreter, chain, next, chain.end(next));
      interpreter.run.leave(chain.claim());
      return next;
    }
    if (next === ENTRY) {
      await runEntries(interpreter, chain);
      chain.position = startAt("RETURN");
      continue;
    }
    const step = steps.get(next);
    if (!step) throw new Failure(next, unknownStep(next));
    const done = await runStep(interpreter, chain, step);
    skipped = done.isSkipped ? skipped + 1 : 0;
    if (skipped > steps.size) throw new Failure(next, idleCycle(next));
    chain.position = startAt(done.next);
  }
}

// The last step was skipped: nothing else tells that the chain has ended.
async function commitMarks(
  interpreter: Interpreter,
  chain: Chain,
  next: ChainEnd,
  marks: MarkChanges,
): Promise<void> {
  const part = chain.path.at(-1);
  const all = [...Object.keys(marks.completedBranches), ...Object.keys(marks.loopProgress)];
  if (!part || all.length === 0) return;
  const { steps } = interpreter.run.workflow.outline;
  // No step stands for the fork of several entries: its mark bears the name of the chain.
  const id = part.in === ENTRY && "child" in part ? part.child : part.in;
  await interpreter.gate.enter();
  try {
    const reached = {
      type: typeName(steps.get(id) ?? { id }),
      outputs: null,
      variables: [],
      artifacts: [],
      next,
      phase: "mark" as const,
      durationMs: 0,
    };
    await interpreter.commit(id, reached, chain, marks, null);
  } finally {
    interpreter.gate.leave();
  }
}

const unknownStep = (id: string): WorkflowError =>
  new WorkflowError({
    code: "NO_SUCH_STEP",
    kind: "failed",
    message: `the workflow has no step ${JSON.stringify(id)}`,
    hint: "check next, children and cases",
  });

const idleCycle = (id: string): WorkflowError =>
  new WorkflowError({
    code: "IDLE_CYCLE",
    kind: "failed",
    message: `the steps around ${id} follow each other for ever, and each is left out by its if`,
    hint: "let one of them lead out of the cycle",
  });
