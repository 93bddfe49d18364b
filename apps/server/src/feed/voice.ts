import type { LogFacts, LogItem, Root, Status, ThreadRef } from "@uncaged/workflow/host";
import type { Frame } from "./frame.ts";

type Bytes = Uint8Array<ArrayBuffer>;
type EndRecord = NonNullable<LogFacts["end"]>;

/** How a stream tells of a thread. Streams of one thread with one voice share what is read. */
export type Voice = {
  readonly name: string;
  /** What an item of the log becomes; without bytes where nothing is told of it. */
  frame(item: LogItem): Frame;
  /*
   * What stands in no file, null where nothing is told of it: that the log is gone, that it is broken,
   * that it had ended before the stream began, and how the thread stands.
   */
  removed(): Bytes | null;
  corrupt(): Bytes | null;
  ended(end: EndRecord, at: Frame["position"]): Bytes | null;
  status(status: Status, steps: number): Bytes | null;
};

/** Gives a thread's streams their voice. */
export type Speak = (root: Root, ref: ThreadRef) => Voice;
