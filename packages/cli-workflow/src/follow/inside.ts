import type { InfoRecord, Step } from "@uncaged/workflow/host";
import { addTally, noTally, type Tally, tallyOf, usageOf } from "@uncaged/workflow-agents/ledger";
import { ownDuration } from "../output/thread.ts";
import { truncate, oneLine, plain } from "../output/text.ts";
import { elapsed } from "../output/time.ts";
import { isObject, type Payload, textOf } from "./payload.ts";
import { remarkOf } from "./remark.ts";
import type { Look } from "../output/style.ts";

/**
 * A tool that runs in a step. `id` is the model's for its call, null for one that the workflow itself
 * called.
 */
type ToolCall = { step: StepID; id: string | null; name: string; given: string; at: number };

type StepID = string | null;

/**
 * What has happened in the steps that are being made: one, or several side by side. Times are in
 * milliseconds since the epoch.
 */
export type Inside = {
  /** Whether streamed text stands on the line that the cursor is on. */
  midLine: boolean;
  /** Whose text was streamed last. */
  speaker: StepID;
  /** The steps that work and have said so, each with its name; the last one began last. */
  working: readonly { step: StepID; name: string }[];
  /** The beginning of what is being thought. */
  thinking: { step: StepID; text: string; since: number } | null;
  calls: readonly ToolCall[];
  /** The error that was shown last: a step fails by the error of its call. */
  error: string;
  /** What the ends of its calls told of: tokens, and a cost if they know it. */
  told: Tally;
};

/** Nothing yet. */
export const noInside: Inside = {
  midLine: false,
  speaker: null,
  working: [],
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
  if (type === "llm_thinking") return think(counted, event, textOf(payload.delta), look);
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

/**
 * What goes on when a step is committed: nothing, but in a step workflow what is done in the steps beside
 * it. `over` is what belongs to the step itself.
 */
export function partedBy(inside: Inside, step: Step): { over: Inside; rest: Inside } {
  if (ownDuration(step) === null) return { over: inside, rest: noInside };
  const isOwn = ({ step: id }: { step: StepID }): boolean => id === step.role;
  const { thinking, calls, working } = inside;
  const isThought = thinking !== null && isOwn(thinking);
  return {
    over: { ...inside, thinking: isThought ? thinking : null, calls: calls.filter(isOwn) },
    rest: {
      ...noInside,
      thinking: isThought ? null : thinking,
      calls: calls.filter((call) => !isOwn(call)),
      working: working.filter((one) => !isOwn(one)),
    },
  };
}

/** What is being done, for the line that waits. */
export function insideText({ working, thinking, calls }: Inside): string {
  const call = calls.at(-1);
  const doing = call ? `runs ${call.name} ${call.given}`.trim() : thinking ? "thinks" : "";
  const others = working.length > 1 ? ` and ${working.length - 1} more` : "";
  return `${working.at(-1)?.name ?? ""}${others} ${doing}`.trim();
}

const constructs = new Set(["Noop", "Branch", "Loop"]);

function showOther(
  inside: Inside,
  { type, stepID = null, timestamp }: InfoRecord & { type: string },
  payload: Payload,
  look: Look,
): Shown {
  switch (type) {
    case "step_start": {
      const meta = isObject(payload.meta) ? payload.meta : {};
      // What only holds others does not work itself.
      if (constructs.has(textOf(payload.type))) return { inside, text: "" };
      const name = oneLine(textOf(meta.title) || (stepID ?? ""));
      const others = inside.working.filter(({ step }) => step !== stepID);
      return { inside: { ...inside, working: [...others, { step: stepID, name }] }, text: "" };
    }
    case "llm_token":
      return stream(inside, stepID, textOf(payload.delta), look);
    case "llm_tool_use":
      return begin(inside, callOf(payload, stepID, textOf(payload.tool_use_id), timestamp));
    case "tool_start":
      // A tool that a model called is shown once, by the model's call.
      if (byModel(inside, stepID, payload)) return { inside, text: "" };
      return begin(inside, callOf(payload, stepID, null, timestamp));
    case "llm_tool_result":
    case "tool_done":
    case "tool_error":
      return finish(inside, { type, stepID, timestamp }, payload, look);
    case "llm_error":
      return fail(inside, oneLine(textOf(payload.error)), look);
    case "step_error": {
      const working = inside.working.filter(({ step }) => step !== stepID);
      return fail({ ...inside, working }, oneLine(textOf(payload.error)), look);
    }
    default: {
      const line = remarkOf(type, stepID ?? "", payload);
      return line === null ? { inside, text: "" } : write(inside, line, look);
    }
  }
}

function think(
  inside: Inside,
  { stepID: step = null, timestamp }: InfoRecord,
  delta: string,
  look: Look,
): Shown {
  const isOther = inside.thinking !== null && inside.thinking.step !== step;
  const { inside: before, text } = isOther ? fold(inside, timestamp, look) : { inside, text: "" };
  const { text: begun, since } = before.thinking ?? { text: "", since: timestamp };
  const thinking = { step, text: `${begun}${delta}`.slice(0, longestThought), since };
  return { inside: { ...before, thinking }, text };
}

/** Writes what was thought as one line. */
function fold(inside: Inside, now: number | null, look: Look): Shown {
  if (inside.thinking === null) return { inside, text: "" };
  const { text, since } = inside.thinking;
  const span = now === null ? "" : ` for ${elapsed(now - since)}`;
  return write({ ...inside, thinking: null }, `thought${span}: ${oneLine(text)}`, look);
}

function stream(inside: Inside, step: StepID, delta: string, { paint }: Look): Shown {
  if (delta === "") return { inside, text: "" };
  const shown = plain(delta);
  // Of models that speak at once each begins a line of its own, with its name.
  const isOther = inside.midLine && inside.speaker !== step;
  const before = isOther ? `\n${indent}${oneLine(step ?? "")}: ` : "";
  const midLine = !shown.endsWith("\n");
  return {
    inside: { ...inside, midLine, speaker: step },
    text: paint("dim", `${before}${shown}`),
  };
}

const callOf = (payload: Payload, step: StepID, id: string | null, at: number): ToolCall => ({
  step,
  id,
  name: oneLine(textOf(payload.name)),
  given: oneLine(textOf(payload.inputSummary ?? payload.input)),
  at,
});

const begin = (inside: Inside, call: ToolCall): Shown => ({
  inside: { ...inside, calls: [...inside.calls, call] },
  text: "",
});

const byModel = ({ calls }: Inside, step: StepID, { name }: Payload): boolean =>
  calls.some(
    (call) => call.step === step && call.id !== null && call.name === oneLine(textOf(name)),
  );

function finish(
  inside: Inside,
  { type, stepID, timestamp }: { type: string; stepID: StepID; timestamp: number },
  payload: Payload,
  look: Look,
): Shown {
  const name = oneLine(textOf(payload.name));
  const isOurs = (call: ToolCall): boolean =>
    type === "llm_tool_result"
      ? call.id === textOf(payload.tool_use_id)
      : call.step === stepID && call.id === null && call.name === name;
  const call = inside.calls.find(isOurs);
  if (!call && type !== "llm_tool_result" && byModel(inside, stepID, payload))
    return { inside, text: "" };
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
  const call = truncate(`> ${name} ${given}`.trimEnd(), Math.max(20, Math.floor(room / 2)));
  const whole = result === "" ? call : `${call} → ${result}`;
  return `${look.paint("dim", `${indent}${truncate(whole, room)}`)}\n`;
}

function fail(inside: Inside, error: string, look: Look): Shown {
  if (error === inside.error) return { inside, text: "" };
  return write({ ...inside, error }, `error: ${error}`, look);
}

function write(inside: Inside, line: string, look: Look): Shown {
  const shown = look.paint("dim", truncate(`${indent}${line}`, look.columns));
  const text = `${inside.midLine ? "\n" : ""}${shown}\n`;
  return { inside: { ...inside, midLine: false }, text };
}

function tallyOfEvent({ usage, cost_usd: cost }: Payload): Tally {
  const counted = usageOf(usage);
  if (counted === null) return noTally;
  return tallyOf(counted, typeof cost === "number" && Number.isFinite(cost) ? cost : null);
}
