import type { ObjectContext } from "@restatedev/restate-sdk";
import type { WorkFigures } from "@uncaged/workflow/store";
import type { ShownFields, ThreadMeta } from "../thread/thread.ts";
import { listThread } from "./listing.ts";

/** The fields of a thread's row that a host has read from the log with this number of records. */
export type DescribeRequest = {
  incarnation: string;
  records: number;
  subject: string;
  shown: ShownFields;
  figures: WorkFigures;
};

type Parts = {
  metaOf: (ctx: ObjectContext) => Promise<ThreadMeta | null>;
  lastRecordOf: (ctx: ObjectContext, meta: ThreadMeta) => Promise<{ content: string } | null>;
};

/** Returns the handler that stores the fields that a thread's log shows, unless the log has more records. */
export const describeHandler =
  ({ metaOf, lastRecordOf }: Parts) =>
  async (
    ctx: ObjectContext,
    { incarnation, records, subject, shown, figures }: DescribeRequest,
  ): Promise<object> => {
    const meta = await metaOf(ctx);
    if (meta?.incarnation !== incarnation || meta.records !== records) return {};
    ctx.set("work", figures);
    const described = { ...meta, subject, shown: { ...shown, records } };
    ctx.set("meta", described);
    const rests = meta.end !== null || meta.last?.waits === true;
    const more = rests ? ((await lastRecordOf(ctx, meta))?.content ?? "") : "";
    await listThread(ctx, described, meta, { isResting: true, isKnown: true, more });
    return {};
  };
