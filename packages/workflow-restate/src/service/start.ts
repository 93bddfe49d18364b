import { handlers, type ObjectContext, serde } from "@restatedev/restate-sdk";
import { unframe } from "../client/frame.ts";
import * as rules from "../thread/thread.ts";
import type { StageRequest } from "../thread/staging.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import {
  begunBefore,
  discardValues,
  sealValues,
  type StagedValues,
  stageValues,
} from "./staging.ts";

/** With `awaits`, the reply waits until the index has the thread. */
export type StartHeader = rules.StartMessage &
  Pick<rules.Started, "byClaims"> &
  StagedValues & { token: string | null; awaits?: boolean };

/** Functions of the thread object that these handlers use. */
export type StartParts = {
  metaOf: (ctx: ObjectContext) => Promise<ThreadMeta | null>;
  become: (ctx: ObjectContext, meta: ThreadMeta, awaits: boolean) => Promise<void>;
};

/** Returns the handlers that start a thread, in one message or in several. Their rules are in `thread/staging.ts`. */
export const startHandlers = ({ metaOf, become }: StartParts) => ({
  start: handlers.object.exclusive(
    { input: serde.binary, accept: "*/*" },
    async (ctx: ObjectContext, message: Uint8Array) => {
      const before = await metaOf(ctx);
      if (before) return begunBefore(before);
      const { header, parts } = unframe(message);
      const { text, taken, token, keys, awaits = false, ...given } = header as StartHeader;
      const refused = await sealValues(ctx, { token, keys }, parts);
      if (refused) return refused;
      for (const id of taken) ctx.set(`r:${id}`, 1);
      ctx.set("text", text);
      const incarnation = ctx.rand.uuidv4();
      const now = given.byClaims?.claim ? await ctx.date.now() : 0;
      const { meta } = rules.start({ ...given, incarnation }, now);
      // The object does not count staged values and blobs, so assume a large thread.
      const isLarge = token !== null || keys.some((key) => key.startsWith("b:"));
      const started = isLarge ? { ...meta, isLarge } : meta;
      await become(ctx, started, awaits);
      return { started: true, hash: given.hash, workflow: given.workflow, meta: started };
    },
  ),

  stage: handlers.object.exclusive(
    { input: serde.binary, accept: "*/*" },
    async (ctx: ObjectContext, message: Uint8Array) => {
      const before = await metaOf(ctx);
      if (before) return begunBefore(before);
      const { header, parts } = unframe(message);
      return await stageValues(ctx, header as StageRequest & StagedValues, parts);
    },
  ),

  discard: async (ctx: ObjectContext, { now }: { now: number }) => {
    const isThread = (await metaOf(ctx)) !== null;
    return { discarded: !isThread && (await discardValues(ctx, now)) };
  },
});
