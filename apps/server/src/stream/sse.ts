import {
  type LogFacts,
  type LogItem,
  type Position,
  type Root,
  showPosition,
  endedStatus,
  type Status,
  type ThreadRef,
} from "@uncaged/workflow/host";
import type { ThreadEvents } from "../schema/thread.ts";

/** One server-sent event, ready to be sent to any number of readers. */
export type SseMessage = {
  /** Behind what it tells. */
  position: Position;
  bytes: Uint8Array<ArrayBuffer>;
  /** Whether nothing comes after it. */
  last: boolean;
  /** The number by which a reader says that it has it, where that is not its position. */
  seq?: number;
};

type EndRecord = NonNullable<LogFacts["end"]>;
type Bytes = Uint8Array<ArrayBuffer>;

/** How a stream tells of a thread. Connections of one thread with one serializer share what is read. */
export type Serializer = {
  readonly name: string;
  /** What an item of the log becomes; without bytes where nothing is told of it. */
  message(item: LogItem): SseMessage;
  /*
   * What stands in no file, null where nothing is told of it: that the log is gone, that it is broken,
   * that it had ended before the stream began, and how the thread stands.
   */
  removed(): Bytes | null;
  corrupt(): Bytes | null;
  ended(end: EndRecord, at: SseMessage["position"]): Bytes | null;
  status(status: Status, steps: number): Bytes | null;
};

/** Gives a thread's streams their serializer. */
export type MakeSerializer = (root: Root, ref: ThreadRef) => Serializer;

const encoder = new TextEncoder();

/** How long a stream may be silent. */
export const heartbeatEveryMs = 15_000;

/** Sent when there was nothing else to send for so long. */
export const heartbeat = encoder.encode(": still here\n\n");

/** Sent first, so that the headers go out at once; a browser reconnects after a second. */
export const greeting = encoder.encode("retry: 1000\n\n");

/** An event of a stream: its name, its data as JSON on one line, and its id when it has one. */
export function eventBytes(name: string, data: unknown, id?: string): Uint8Array<ArrayBuffer> {
  const head = id === undefined ? "" : `id: ${id}\n`;
  return encoder.encode(`event: ${name}\n${head}data: ${JSON.stringify(data)}\n\n`);
}

/** An event of a thread's stream. */
export type ThreadEvent = {
  [Name in keyof ThreadEvents]: { name: Name; data: ThreadEvents[Name] };
}[keyof ThreadEvents];

/** The serializer of a thread's own stream. */
export const threadSerializer: MakeSerializer = (_, ref) => ({
  name: "thread",
  message: (item) => messageOf(ref, item),
  removed: () => eventBytes("removed", { threadId: ref.threadId }),
  corrupt: () => eventBytes("end", { status: "corrupt", result: null }),
  ended: (end, at) => eventBytes("end", endOf(end), showPosition(at)),
  status: (status, steps) => eventBytes("status", { status, steps }),
});

function messageOf(ref: ThreadRef, item: LogItem): SseMessage {
  const { name, data } = eventOf(ref, item);
  const bytes = eventBytes(name, data, showPosition(item.position));
  return { position: item.position, bytes, last: item.kind === "end" };
}

/** What a thread's stream tells of an item of its log. */
function eventOf({ threadId, hash }: ThreadRef, item: LogItem): ThreadEvent {
  switch (item.kind) {
    case "start": {
      const { name: workflow, parameters, timestamp: createdAt, forkFrom = null } = item.start;
      const { prompt, options } = parameters;
      const { maxRounds } = options;
      return {
        name: "start",
        data: { threadId, workflow, hash, prompt, maxRounds, createdAt, forkFrom },
      };
    }
    case "step":
      return { name: "step", data: { number: item.number, ...item.step } };
    case "event":
      return { name: "event", data: item.event };
    case "end":
      return { name: "end", data: endOf(item.end) };
  }
}

/** How a thread with this end record ended. */
const endOf = (end: EndRecord): ThreadEvents["end"] => ({
  status: endedStatus(end).status,
  result: { returnCode: end.meta.returnCode, summary: end.content },
});
