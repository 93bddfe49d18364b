import type { PlanMetadata } from "../plan/plan.ts";

/** What a plan's metadata knows of its notices: how far each run was reported, and what else is to be sent. */
export type NoticePosition = {
  runs: Record<string, string>;
  pending: { id: string; at: number; text: string }[];
};

/** A notice older than that is not sent any more. */
export const longestNoticeMs = 24 * 60 * 60_000;

/** What the owner of a plan is to know that is in no record. */
export const noticeOf = {
  interrupted: (runId: string): string => `${runId} was interrupted, and goes on`,
  failing: (error: string): string => `its check fails: ${error}`,
};

export function positionIn(metadata: PlanMetadata | undefined): NoticePosition {
  const { pending = [], runs = {} } = (metadata?.notices ?? {}) as Partial<NoticePosition>;
  return { pending, runs };
}

/** A plan's metadata with a further notice; those that are too old are dropped. */
export function withNotice(metadata: PlanMetadata, text: string, now: number): PlanMetadata {
  const { pending, runs } = positionIn(metadata);
  const recent = pending.filter(({ at }) => now - at <= longestNoticeMs);
  const notice = { id: crypto.randomUUID(), at: now, text };
  return { ...metadata, notices: { runs, pending: [...recent, notice] } };
}
