import { type ObjectContext, serde } from "@restatedev/restate-sdk";
import * as rules from "../thread/staging.ts";
import type { ThreadMeta } from "../thread/thread.ts";

/** Keys of the values in a message of a start. Each part of the message is one value. */
export type StagedValues = { keys: string[] };

const setAll = (ctx: ObjectContext, { keys }: StagedValues, parts: readonly Uint8Array[]): void =>
  keys.forEach((key, n) => ctx.set(key, parts[n] as Uint8Array, serde.binary));

const stagingOf = (ctx: ObjectContext) => ctx.get<rules.Staging>("staging");

/** Reply to the start of an existing thread. */
export const begunBefore = (meta: ThreadMeta) => {
  const { hash, workflow } = meta;
  return { started: false, hash, workflow, meta };
};

/** Accepts one message of a multi-message start. The thread must not exist. */
export async function stageValues(
  ctx: ObjectContext,
  header: rules.StageRequest & StagedValues,
  parts: readonly Uint8Array[],
): Promise<{ staged: true } | { refused: rules.NotStaged }> {
  const staged = rules.stage(await stagingOf(ctx), header, await ctx.date.now());
  if (typeof staged === "string") return { refused: staged };
  if (staged.isNew) ctx.clearAll();
  ctx.set("staging", staged.staging);
  setAll(ctx, header, parts);
  return { staged: true };
}

/** Accepts the last values of a thread that does not exist yet. Returns the reason for a refusal, or null. */
export async function sealValues(
  ctx: ObjectContext,
  { token, ...values }: StagedValues & { token: string | null },
  parts: readonly Uint8Array[],
): Promise<{ refused: rules.NotStaged } | null> {
  const staging = await stagingOf(ctx);
  const sealed = rules.seal(staging, token, await ctx.date.now());
  if (sealed !== "sealed") return { refused: sealed };
  if (token === null && staging) ctx.clearAll();
  else if (staging) ctx.clear("staging");
  setAll(ctx, values, parts);
  return null;
}

/** Deletes the values of an abandoned start. Returns whether it had any. */
export async function discardValues(ctx: ObjectContext, now: number): Promise<boolean> {
  const staging = await stagingOf(ctx);
  if (!staging || !rules.isAbandoned(staging, now)) return false;
  ctx.clearAll();
  return true;
}
