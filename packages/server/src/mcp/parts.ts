import type { ThreadView } from "@uncaged/workflow/host";
import { answererIn, answererText } from "@uncaged/workflow/records";
import { z } from "zod";
import { badCursor } from "./errors.ts";
import { clipped, headOf, jsonBytes } from "./size.ts";

const text = z.string();

/** A page of a thread's steps, or a part of one large value. */
export const pageShape = {
  records: z
    .array(
      z.strictObject({
        number: z.int(),
        role: text,
        content: text,
        meta: z.record(text, z.unknown()).optional(),
        by: text.optional().describe("The author of an answer."),
        at: text,
        large: z.array(z.strictObject({ of: text, bytes: z.int(), cursor: text })).optional(),
      }),
    )
    .optional(),
  part: z
    .strictObject({ of: text, offset: z.int(), bytes: z.int(), text })
    .optional()
    .describe("A part of a large value; `bytes` is the size of the whole value."),
};

type Page = z.infer<z.ZodObject<typeof pageShape>> & { next: string | null };

const mostPage = 20_000;
const mostContent = 4_000;
const mostMeta = 2_000;

/**
 * Returns the page of a thread at a cursor: `steps:<number>`, or `<value>:<offset>`.
 * @throws WorkflowError `BAD_CURSOR` (usage).
 */
export function pageAt(view: ThreadView, cursor: string): Page {
  const [, of = "", digits = ""] = /^([a-z0-9.]{1,60}):(\d{1,9})$/.exec(cursor) ?? [];
  const offset = Number(digits);
  if (of === "steps") return stepsFrom(view, offset);
  const whole = valueAt(view, of);
  if (whole === null || offset > whole.length) throw badCursor(cursor, view.threadId);
  const part = headOf(whole, mostPage, offset);
  const end = offset + part.length;
  return {
    part: { of, offset, bytes: Buffer.byteLength(whole), text: part },
    next: end < whole.length ? `${of}:${end}` : null,
  };
}

function stepsFrom({ steps }: ThreadView, first: number): Page {
  const records: NonNullable<Page["records"]> = [];
  let bytes = 0;
  for (let number = Math.max(1, first); number <= steps.length; number += 1) {
    const record = recordOf(steps, number);
    bytes += jsonBytes(record);
    if (bytes > mostPage && records.length > 0) return { records, next: `steps:${number}` };
    records.push(record);
  }
  return { records, next: null };
}

function recordOf(steps: ThreadView["steps"], number: number) {
  const { role, content, meta, timestamp } = steps[number - 1] as ThreadView["steps"][number];
  const shown = clipped(content, mostContent);
  const metaSize = jsonBytes(meta);
  const by = role === "__input__" ? answererIn(meta) : null;
  const name = `step.${number}`;
  const large = [
    ...(shown === content ? [] : [largeOf(`${name}.content`, Buffer.byteLength(content))]),
    ...(metaSize <= mostMeta ? [] : [largeOf(`${name}.meta`, metaSize)]),
  ];
  return {
    ...{ number, role: clipped(role, 100), content: shown },
    ...(metaSize <= mostMeta && Object.keys(meta).length > 0 && { meta }),
    ...(by && { by: answererText(by) }),
    at: new Date(timestamp).toISOString(),
    ...(large.length > 0 && { large }),
  };
}

const largeOf = (of: string, bytes: number) => ({ of, bytes, cursor: `${of}:0` });

/** Returns the text of a value of a thread, or its JSON; null for an unknown value. */
function valueAt(view: ThreadView, of: string): string | null {
  if (of === "prompt") return view.prompt;
  if (of === "params") return JSON.stringify(view.params) ?? null;
  if ("result" in view) {
    if (of === "result.summary") return view.result.summary;
    if (of === "result.value") return JSON.stringify(view.result.value) ?? null;
  }
  const [, number, field] = /^step\.(\d{1,9})\.(content|meta)$/.exec(of) ?? [];
  const step = view.steps[Number(number) - 1];
  if (!step) return null;
  return field === "content" ? step.content : JSON.stringify(step.meta);
}
