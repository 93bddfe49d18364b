import type { PlanMetadata } from "../plan/plan.ts";

/** The state of notices in a plan's metadata: the reported position of each run, and the pending notices. */
export type NoticePosition = {
  runs: Record<string, string>;
  pending: { id: string; at: number; text: string }[];
};

/** Age after which a notice is not sent, in milliseconds. */
export const longestNoticeMs = 24 * 60 * 60_000;

/** Notices to the owner of a plan about events without a record. */
export const noticeOf = {
  interrupted: (runId: string): string => `${runId} was interrupted, and continues`,
  failing: (error: string): string => `its check fails: ${error}`,
};

export function positionIn(metadata: PlanMetadata | undefined): NoticePosition {
  const { pending = [], runs = {} } = (metadata?.notices ?? {}) as Partial<NoticePosition>;
  return { pending, runs };
}

/** Adds a notice to a plan's metadata and drops notices older than {@link longestNoticeMs}. */
export function withNotice(metadata: PlanMetadata, text: string, now: number): PlanMetadata {
  const { pending, runs } = positionIn(metadata);
  const recent = pending.filter(({ at }) => now - at <= longestNoticeMs);
  const notice = { id: crypto.randomUUID(), at: now, text };
  return { ...metadata, notices: { runs, pending: [...recent, notice] } };
}
