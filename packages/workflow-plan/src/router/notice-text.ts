import type { Step } from "@uncaged/workflow";
import type { Workflow } from "../plan/plan.ts";
import type { PlanView } from "../service/plans.ts";
import type { FailureQuestion } from "../state/record.ts";

const longestOutput = 3_000;

/** What the owner of a plan is sent about a record; null when it is nothing to report. */
export function noticeText(
  { name }: Workflow,
  runId: string,
  { content, meta, role }: Step,
  isAnswered: boolean,
): string | null {
  if (meta.event === "notice") return `**${name}**, ${role}: ${content}`;
  if (role !== "__wait__" || meta.for !== "step_failure" || isAnswered) return null;
  const { error, stepId } = meta as FailureQuestion;
  return `**${name}**: the step ${stepId} has failed: ${error}\nAnswer retry, skip or abort (or /answer ${runId} and one of these).`;
}

/** What the owner is sent about a run that has ended: its outputs, or what has failed. Null while it goes on. */
export function endText(workflow: Workflow, run: PlanView["runs"][number]): string | null {
  const { id, name, steps, trigger } = workflow;
  if (run.status === "running") return null;
  if (run.status === "failed") {
    const how = trigger.type === "manual" ? `\nDo again what has failed with /retry ${id}.` : "";
    return `**${name}** has failed: ${run.error ?? "for no known reason"}${how}`;
  }
  const needed = new Set(steps.flatMap(({ depends_on }) => depends_on));
  const outputs = run.steps.flatMap(({ output_json, step_id }) => {
    const isLast = steps.some((step) => step.id === step_id) && !needed.has(step_id);
    const output = isLast && output_json !== null ? String(JSON.parse(output_json)) : "";
    if (output.trim() === "") return [];
    const cut = output.length > longestOutput ? `${output.slice(0, longestOutput)}…` : output;
    return [`${step_id}:\n${cut}`];
  });
  return [`**${name}** has completed.`, ...outputs].join("\n");
}
