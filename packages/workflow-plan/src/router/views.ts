import { stepLines } from "../plan/definition.ts";
import { triggerText } from "../preview/preview.ts";
import type { PlanView } from "../home/plans.ts";

const shortest = 9;

/** Returns the shortest unique prefix of each id, with a minimum length. */
export function shortIds(ids: readonly string[]): Map<string, string> {
  const sorted = [...ids].toSorted();
  return new Map(
    sorted.map((id, at) => {
      const common = [sorted[at - 1] ?? "", sorted[at + 1] ?? ""].map((other) =>
        commonLength(id, other),
      );
      return [id, id.slice(0, Math.max(shortest, Math.max(...common) + 1))];
    }),
  );
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** Returns the description of a plan: its definition, and the results of its last runs. */
export function planLines(view: PlanView): string[] {
  const { description, id, name, phase, runs, trigger, trigger_state } = view;
  const failed = trigger_state?.last_error;
  return [
    `**${name}** (${id}): ${phase}`,
    description,
    `Trigger: ${triggerText(trigger)}`,
    ...(failed ? [`The last check has failed: ${failed}`] : []),
    ...stepLines(view),
    ...(runs.length > 0 ? ["Runs:", ...runs.slice(0, 5).map(runLine)] : []),
  ];
}

/** Returns the state of a plan's last run, with a line for each step. */
export function statusLines({ name, phase, runs, steps }: PlanView): string[] {
  const [last] = runs;
  if (!last) return [`**${name}**: ${phase}`, "It has not run yet."];
  const rows = new Map(last.steps.map((row) => [row.step_id, row]));
  const ids = new Set([...steps.map(({ id }) => id), ...rows.keys()]);
  const lines = [...ids].map((id) => {
    const row = rows.get(id);
    return `${id}: ${row?.status ?? "pending"}${row?.error ? `: ${row.error}` : ""}`;
  });
  return [`**${name}**: ${phase}`, runLine(last), ...lines];
}

const runLine = ({ error, id, started_at, status }: PlanView["runs"][number]): string =>
  `${id}: ${status}, begun ${started_at}${error ? `, ${error}` : ""}`;
