import { attemptIds } from "@uncaged/workflow/interpreter";
import type { Observed } from "@uncaged/workflow/host";
import { View } from "../src/follow/view.ts";
import { type Look, noPaint } from "../src/output/style.ts";

/* Functions that create the observed items of a thread, and show them in the live view. */

export const pipe: Look = { paint: noPaint, terminal: false, columns: Number.POSITIVE_INFINITY };
export const screen: Look = { paint: noPaint, terminal: true, columns: 80 };
export const narrow: Look = { ...screen, columns: 40 };

/** Returns the id of an attempt that began at a time. */
export const opened = (at: number): string => attemptIds(() => at)();

export type Item = Omit<Observed, "cursor">;

export const start = (steps?: number): Item =>
  ({
    kind: "start",
    start: {
      name: "review",
      hash: "C9NMV6V2TQT81",
      threadId: "01KQXKW18CT8G75T53R8F4G7YG",
      parameters: { prompt: "", maxRounds: 10 },
      timestamp: 1000,
      ...(steps && { forkFrom: { threadId: "01KQXKW18CT8G75T53R8F4G7YH", steps } }),
    },
  }) as Item;

export const step = (
  number: number,
  role: string,
  content: string,
  timestamp: number,
  { attempt, meta = {} }: { attempt?: string; meta?: Record<string, unknown> } = {},
): Item =>
  ({
    kind: "step",
    number,
    step: { role, content, meta, timestamp, ...(attempt && { attempt }) },
  }) as Item;

let seq = 0;
export const event = (
  attempt: string | null,
  type: string,
  payload: unknown,
  timestamp = 1000,
  stepID: string | null = null,
): Item =>
  ({
    kind: "event",
    event: {
      tag: "QK4DX8TM",
      content: type,
      timestamp,
      type,
      stepID,
      payload,
      seq: (seq += 1),
      ...(attempt && { attempt }),
    },
  }) as Item;

export const begin = (attempt: string, role: string | null, at = 1000, more: object = {}): Item =>
  event(attempt, "attempt_start", { role, ...more }, at);

export function shown(items: Item[], look: Look): { view: View; text: string } {
  const view = new View(look);
  const text = items.map((item) => view.show({ cursor: "", ...item } as Observed)).join("");
  return { view, text };
}

export const textOf = (items: Item[], look: Look): string => shown(items, look).text;
export const liveOf = (items: Item[], now: number): string[] => shown(items, screen).view.live(now);
