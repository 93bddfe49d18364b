import { wakesAt } from "@uncaged/workflow/driver";
import type { ThreadState } from "@uncaged/workflow/driver";
import type { Step } from "@uncaged/workflow/host";
import { END } from "@uncaged/workflow";
import type { AppendedRecord, LastRecord } from "./thread.ts";

/** What the object keeps of a record, and the text that the thread is searched by from then on. */
export function described(
  record: string,
  state: ThreadState,
): Omit<AppendedRecord, "sum"> & { text?: string } {
  const { role, content, meta, timestamp } = JSON.parse(record) as Step;
  if (role === END) {
    const { returnCode, reason } = meta as { returnCode: number; reason: string };
    const last: LastRecord = { role, timestamp, waits: false };
    return { last, end: { returnCode, reason }, text: content.slice(0, 4000) };
  }
  const waits = state.kind === "waiting";
  const at = wakesAt({ role, meta });
  const last: LastRecord = {
    role,
    timestamp,
    waits,
    ...(meta.sleep === true && { sleeps: true }),
    ...(at !== null && { wakesAt: at }),
  };
  return { last, ...(waits && { text: content.slice(0, 4000) }) };
}
