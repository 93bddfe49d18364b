import type { InfoRecord } from "@uncaged/workflow/host";
import { addTally, noTally, type Tally, tallyOf, usageOf } from "@uncaged/workflow-agents/ledger";
import { cut, oneLine, plain } from "../output/text.ts";
import { elapsed } from "../output/time.ts";
import { isObject, type Payload, textOf } from "./payload.ts";
import { remarkOf } from "./remark.ts";
import type { Look } from "./view.ts";

/** A tool that runs. `id` is the model's for its call, null for one that the workflow itself called. */
type ToolCall = { id: string | null; name: string; given: string; at: number };

/** What has happened in the step that is being made. Times are in milliseconds since the epoch. */
export type Inside = {
  /** Whether streamed text stands on the line that the cursor is on. */
  midLine: boolean;
  /** The role that works, when it has said so. */
  role: string;
  /** The beginning of what is being thought. */
  thinking: { text: string; since: number } | null;
  calls: readonly ToolCall[];
  /** The error that was shown last: a step fails by the error of its call. */
  error: string;
  /** What the ends of its calls told of: tokens, and a cost if they know it. */
  told: Tally;
};

/** Nothing yet. */
export const noInside: Inside = {
  midLine: false,
  role: "",
  thinking: null,
  calls: [],
  error: "",
  told: noTally,
};

type Shown = { inside: Inside; text: string };
const indent = "     ";
const longestThought = 500;

/**
 * What an event adds, and the text that it writes: streamed text as it comes; thinking as one line
 * when it is over; a tool with its result as one line when it is done. Only on a terminal: a pipe gets
 * no more than what a workflow prints.
 */
export function showEvent(inside: Inside, event: InfoRecord, look: Look): Shown {
  const payload = isObject(event.payload) ? event.payload : {};
  const { type = "", timestamp } = event;
  const told = type === "llm_done" ? addTally(inside.told, tallyOfEvent(payload)) : inside.told;
  const counted = { ...inside, told };
  if (!look.terminal && type !== "step_print") return { inside: counted, text: "" };
  if (type === "llm_thinking") return think(counted, textOf(payload.delta), timestamp);
  const folded = fold(counted, timestamp, look);
  const shown = showOther(folded.inside, { ...event, type }, payload, look);
  return { inside: shown.inside, text: folded.text + shown.text };
}

/** What has to be written before a line of another step: what was open until then. */
export function closeInside(inside: Inside, look: Look): string {
  if (!look.terminal) return "";
  const { text, inside: folded } = fold(inside, null, look);
  const unanswered = inside.calls.map(({ name, given }) => toolLine(name, given, "", look));
  return `${text}${folded.midLine ? "\n" : ""}${unanswered.join("")}`;
}

/** What is being done, for the line that waits. */
export function insideText({ role, thinking, calls }: Inside): string {
  const call = calls.at(-1);
  const doing = call ? `runs ${call.name} ${call.given}`.trim() : thinking ? "thinks" : "";
  return `${role} ${doing}`.trim();
}

function showOther(
  inside: Inside,
  { type, stepID, timestamp }: InfoRecord & { type: string },
  payload: Payload,
  look: Look,
): Shown {
  switch (type) {
    case "step_start": {
      const meta = isObject(payload.meta) ? payload.meta : {};
      const role = oneLine(textOf(meta.title) || (stepID ?? ""));
      return { inside: { ...inside, role }, text: "" };
    }
    case "llm_token":
      return stream(inside, textOf(payload.delta), look);
    case "llm_tool_use":
      return begin(inside, callOf(payload, textOf(payload.tool_use_id), timestamp));
    case "tool_start":
      // A tool that a model called is shown once, by the model's call.
      if (byModel(inside, payload)) return { inside, text: "" };
      return begin(inside, callOf(payload, null, timestamp));
    case "llm_tool_result":
    case "tool_done":
    case "tool_error":
      return finish(inside, type, payload, timestamp, look);
    case "llm_error":
    case "step_error":
      return fail(inside, oneLine(textOf(payload.error)), look);
    default: {
      const line = remarkOf(type, stepID ?? "", payload);
      return line === null ? { inside, text: "" } : write(inside, line, look);
    }
  }
}

function think(inside: Inside, delta: string, now: number): Shown {
  const { text, since } = inside.thinking ?? { text: "", since: now };
  const thinking = { text: `${text}${delta}`.slice(0, longestThought), since };
  return { inside: { ...inside, thinking }, text: "" };
}

/** Writes what was thought as one line. */
function fold(inside: Inside, now: number | null, look: Look): Shown {
  if (inside.thinking === null) return { inside, text: "" };
  const { text, since } = inside.thinking;
  const span = now === null ? "" : ` for ${elapsed(now - since)}`;
  return write({ ...inside, thinking: null }, `thought${span}: ${oneLine(text)}`, look);
}

function stream(inside: Inside, delta: string, { paint }: Look): Shown {
  if (delta === "") return { inside, text: "" };
  const shown = plain(delta);
  return { inside: { ...inside, midLine: !shown.endsWith("\n") }, text: paint("dim", shown) };
}

const callOf = (payload: Payload, id: string | null, at: number): ToolCall => ({
  id,
  name: oneLine(textOf(payload.name)),
  given: oneLine(textOf(payload.inputSummary ?? payload.input)),
  at,
});

const begin = (inside: Inside, call: ToolCall): Shown => ({
  inside: { ...inside, calls: [...inside.calls, call] },
  text: "",
});

const byModel = ({ calls }: Inside, { name }: Payload): boolean =>
  calls.some((call) => call.id !== null && call.name === oneLine(textOf(name)));

function finish(
  inside: Inside,
  type: string,
  payload: Payload,
  timestamp: number,
  look: Look,
): Shown {
  const name = oneLine(textOf(payload.name));
  const isOurs = (call: ToolCall): boolean =>
    type === "llm_tool_result"
      ? call.id === textOf(payload.tool_use_id)
      : call.id === null && call.name === name;
  const call = inside.calls.find(isOurs);
  if (!call && type !== "llm_tool_result" && byModel(inside, payload)) return { inside, text: "" };
  const calls = inside.calls.filter((other) => other !== call);
  const failed = type === "tool_error" || payload.is_error === true;
  const said = oneLine(textOf(payload.content ?? payload.outputSummary ?? payload.error));
  const span = call ? ` (${elapsed(timestamp - call.at)})` : "";
  const result = `${failed ? "failed: " : ""}${said}${span}`;
  const line = toolLine(call?.name ?? (name || "tool"), call?.given ?? "", result, look);
  const closed = inside.midLine ? "\n" : "";
  return { inside: { ...inside, calls, midLine: false }, text: `${closed}${line}` };
}

/** A tool with what it was given and what came of it; what it was given has half of the line. */
function toolLine(name: string, given: string, result: string, look: Look): string {
  const room = look.columns - indent.length;
  const call = cut(`> ${name} ${given}`.trimEnd(), Math.max(20, Math.floor(room / 2)));
  const whole = result === "" ? call : `${call} → ${result}`;
  return `${look.paint("dim", `${indent}${cut(whole, room)}`)}\n`;
}

function fail(inside: Inside, error: string, look: Look): Shown {
  if (error === inside.error) return { inside, text: "" };
  return write({ ...inside, error }, `error: ${error}`, look);
}

function write(inside: Inside, line: string, look: Look): Shown {
  const shown = look.paint("dim", cut(`${indent}${line}`, look.columns));
  const text = `${inside.midLine ? "\n" : ""}${shown}\n`;
  return { inside: { ...inside, midLine: false }, text };
}

function tallyOfEvent({ usage, cost_usd: cost }: Payload): Tally {
  const counted = usageOf(usage);
  if (counted === null) return noTally;
  return tallyOf(counted, typeof cost === "number" && Number.isFinite(cost) ? cost : null);
}
