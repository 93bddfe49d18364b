import { show, WorkflowError } from "@uncaged/workflow/host";

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The moment that an option means, in milliseconds since the epoch: a span before now (`30s`, `5m`,
 * `2h`, `1d`) or an ISO 8601 date or time. @throws WorkflowError `BAD_OPTION` (usage).
 */
export function momentOf(option: string, text: string, now: number): number {
  const [, amount, unit = ""] = /^([0-9]{1,9})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return now - Number(amount) * (units[unit] ?? 0);
  const moment = /^[0-9]{4}-[0-9]{2}-[0-9]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(moment)) return moment;
  throw new WorkflowError({
    code: "BAD_OPTION",
    kind: "usage",
    message: `${option} can't be ${show(text)}`,
    hint: `give a span (30s, 5m, 2h, 1d) or a time (2026-05-06T12:00:00Z)`,
  });
}
