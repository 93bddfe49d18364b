import type { Step } from "@uncaged/workflow/host";

type Said = Pick<Step, "role" | "content" | "meta">;

/**
 * What a step says to who sees its role and its time beside it: the step of a step workflow begins with
 * the one and ends with the other. An answer that nobody gave says nothing itself.
 */
export function saidBy(step: Said): string {
  const { role, content } = step;
  if (role === "__input__" && step.meta.timedOut === true) return "nobody answered in time";
  const said = content.startsWith(`${role}: `) ? content.slice(role.length + 2) : content;
  return tookBy(step) === null ? said : said.replace(/(, |^)\d+(\.\d+)? s$/, "");
}

/** How long a step took by its own account, in milliseconds; null when it gives none. */
export function tookBy({ meta }: Pick<Said, "meta">): number | null {
  const { durationMs } = meta;
  return typeof durationMs === "number" && durationMs >= 0 ? durationMs : null;
}
