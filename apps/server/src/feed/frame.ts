import {
  type LogFacts,
  type LogItem,
  type Position,
  showPosition,
  statusOf,
  type ThreadRef,
} from "@uncaged/workflow/host";
import type { ThreadEvents } from "../shape/event.ts";
import type { Speak } from "./voice.ts";

/** One server-sent event, ready to be sent to any number of readers. */
export type Frame = {
  /** Behind what it tells. */
  position: Position;
  bytes: Uint8Array<ArrayBuffer>;
  /** Whether nothing comes after it. */
  last: boolean;
  /** The number by which a reader says that it has it, where that is not its position. */
  seq?: number;
};

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
export type Told = {
  [Name in keyof ThreadEvents]: { name: Name; data: ThreadEvents[Name] };
}[keyof ThreadEvents];

/** The voice of a thread's own stream. */
export const threadVoice: Speak = (_, ref) => ({
  name: "thread",
  frame: (item) => frameOf(ref, item),
  removed: () => eventBytes("removed", { threadId: ref.threadId }),
  corrupt: () => eventBytes("end", { status: "corrupt", result: null }),
  ended: (end, at) => eventBytes("end", endOf(end), showPosition(at)),
  status: (status, steps) => eventBytes("status", { status, steps }),
});

function frameOf(ref: ThreadRef, item: LogItem): Frame {
  const { name, data } = toldOf(ref, item);
  const bytes = eventBytes(name, data, showPosition(item.position));
  return { position: item.position, bytes, last: item.kind === "end" };
}

/** What a thread's stream tells of an item of its log. */
export function toldOf({ threadId, hash }: ThreadRef, item: LogItem): Told {
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

type EndRecord = NonNullable<LogFacts["end"]>;

/** How a thread with this end record ended. */
const endOf = (end: EndRecord): ThreadEvents["end"] => ({
  status: statusOf({ broken: null, end, lastRole: null }, null),
  result: { returnCode: end.meta.returnCode, summary: end.content },
});
