import type { RoleOutput } from "@uncaged/workflow";
import { type StepDocument, stepsBundle, type WorkflowDocument } from "../src/entry/index.ts";
import {
  planRerun,
  recordedCheckpoint,
  type RecordedThread,
  recordedValues,
} from "../src/entry/threads.ts";

/** Returns a step that sets a variable. */
export const set = (id: string, target: string, value: unknown, next = "RETURN"): StepDocument => ({
  id,
  target,
  value,
  next,
});
/** Returns a workflow of the given steps. */
export const flow = (
  steps: StepDocument[],
  vars: string[],
  params: string[] = [],
): WorkflowDocument => ({
  version: "3.18",
  name: "flow",
  registry: { params, vars },
  steps,
});

/** A workflow with functions that run and rerun its threads. */
export class Trial {
  readonly document: WorkflowDocument;
  readonly subflows: Record<string, WorkflowDocument>;

  constructor(document: WorkflowDocument, subflows: Record<string, WorkflowDocument> = {}) {
    this.document = document;
    this.subflows = subflows;
  }

  /** Runs a thread to its end or failure, starting with the given steps. */
  async run(before: RoleOutput[] = []): Promise<RecordedThread> {
    const steps = [...before];
    const { run } = stepsBundle(this.document, { subflows: this.subflows, customHandlers: works });
    const thread = { threadId: "T", prompt: "", params: {} };
    let status = "completed";
    try {
      const given = { ...thread, steps: before };
      for await (const step of run(given, { threadId: "T", maxRounds: 100 })) steps.push(step);
    } catch {
      status = "failed";
    }
    return { ...thread, steps, status };
  }

  values(thread: RecordedThread, number: number, coming?: string) {
    return recordedValues(this, thread, number, coming);
  }

  /** Reruns a thread from one of its steps. Returns the roles that ran and the variables. */
  async again(
    thread: RecordedThread,
    number: number,
    overrides: Record<string, unknown> = {},
    coming?: string,
  ) {
    const values = this.values(thread, number, coming);
    if (!values) throw new Error("the step has no values");
    const { path, steps, stepID } = values;
    const checkpoint = { threadId: "T", steps };
    const at = stepID === null ? {} : { stepID, path };
    const { kept, input } = planRerun(this, thread, { checkpoint, ...at, overrides });
    if (kept !== steps) throw new Error(`the rerun keeps ${kept} steps instead of ${steps}`);
    const rerun = await this.run([...thread.steps.slice(0, kept), { role: "__input__", ...input }]);
    const { variables } = recordedCheckpoint(this, rerun);
    return { roles: rerun.steps.slice(kept + 1).map(({ role }) => role), variables, rerun };
  }
}

const works = {
  Work: (context: { evaluate: (value: unknown) => unknown }) => {
    if (context.evaluate("=$fails")) throw new Error("not yet");
    return context.evaluate("=_item");
  },
};

/** Returns the number of the first or `nth` step of a role. */
export const numberOf = ({ steps }: RecordedThread, role: string, nth = 1): number =>
  steps.flatMap((step, index) => (step.role === role ? [index + 1] : []))[nth - 1] ?? 0;
