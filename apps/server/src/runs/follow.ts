import { readRow, type ThreadRef } from "@uncaged/workflow/host";
import type { Context } from "../routes/context.ts";
import { endedOf, endingSeqOf } from "./ending.ts";
import { lastSeqOf } from "./run.ts";
import { runVoice } from "./voice.ts";

/**
 * The stream of a run's events behind the one with the id `last`. It ends behind the event that ends the
 * run; whoever comes back with that one is told by the status 204 that there is nothing more.
 *
 * @throws WorkflowError `TOO_MANY_STREAMS`.
 */
export async function followRun(
  context: Context,
  ref: ThreadRef,
  last: number | null,
): Promise<Response> {
  const { root, feeds, streams } = context;
  const ended = endedOf(await readRow(root, ref));
  const isAll = last !== null && ended && last >= endingSeqOf(root, ref, ended);
  if (isAll) return new Response(null, { status: 204 });
  streams.checkRoom();
  // What is behind the end is of another run, or another time: such a reader has what there is.
  const after = last === null ? 0 : Math.min(last, lastSeqOf(root, ref));
  const response = streams.send(feeds.listen(ref, undefined, { speak: runVoice(ended), after }));
  response.headers.set("Connection", "keep-alive");
  return response;
}

/** The stream of a run that there is not: it ends at once. */
export const noStream = (): Response =>
  new Response("", {
    headers: {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-cache",
      Connection: "keep-alive",
    },
  });

/** The number that a `Last-Event-ID` is; null for none, and for what never was one. */
export const seqIn = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
