import type { FollowItem } from "@uncaged/workflow/host";
import type { Paint } from "../output/colour.ts";
import { cut, firstLine, oneLine, plain } from "../output/text.ts";
import { elapsed } from "../output/time.ts";

/** How a live view is drawn: `terminal` also shows what happens inside a step. */
export type Look = { paint: Paint; terminal: boolean; columns: number };

/** What a live view has to remember between two items. Times are in milliseconds since the epoch. */
export type View = {
  /** How many of the first steps a fork has brought along. */
  kept: number;
  /** When the thread's previous own step was committed, or the thread began. */
  previousAt: number;
  /** The previous step by its number, for the spinner. */
  previous: { number: number; role: string } | null;
  status: string;
  /** Whether streamed text stands on the line that the cursor is on. */
  midLine: boolean;
  question: string | null;
  tokens: number;
  cost: number;
};

/** The view of a thread that began at this moment, with so many steps of another. */
export function beginView(createdAt: number, kept: number): View {
  return {
    kept,
    previousAt: createdAt,
    previous: null,
    status: "running",
    midLine: false,
    question: null,
    tokens: 0,
    cost: 0,
  };
}

/** What an item adds to the view, and the text that it writes. */
export function showItem(view: View, item: FollowItem, look: Look): { view: View; text: string } {
  switch (item.kind) {
    case "step":
      return showStep(view, item, look);
    case "status":
      return { view: { ...view, status: item.status }, text: "" };
    case "event":
      return showEvent(view, item.event, look);
    case "end":
      return closeLine(view);
  }
}

/** The line that shows what is waited for, and for how long. */
export function waitLine(view: View, now: number): string {
  const span = elapsed(now - view.previousAt);
  if (view.status === "paused") return `paused, ${span}`;
  return view.previous
    ? `${span} since ${view.previous.number} ${oneLine(view.previous.role)}`
    : `${span} since the start`;
}

/** Tokens and cost so far, or "" when no event told of them. */
export function spentText({ tokens, cost }: View): string {
  const parts: string[] = [];
  if (tokens > 0) parts.push(`${tokens.toLocaleString("en-US")} tokens`);
  if (cost > 0) parts.push(`$${cost.toFixed(cost < 1 ? 4 : 2)}`);
  return parts.join(", ");
}

type StepItem = Extract<FollowItem, { kind: "step" }>;

function showStep(view: View, { number, step }: StepItem, look: Look) {
  const { paint, columns } = look;
  const role = oneLine(step.role);
  const isKept = number <= view.kept;
  const span = isKept ? "kept" : elapsed(step.timestamp - view.previousAt);
  const head = `${String(number).padStart(3)}  ${role.padEnd(10)}  ${span.padStart(6)}  `;
  const said = cut(firstLine(step.content), Math.max(10, columns - Bun.stringWidth(head)));
  const line =
    `${paint("dim", String(number).padStart(3))}  ${paint("cyan", role.padEnd(10))}  ` +
    `${paint("dim", span.padStart(6))}  ${said}`;
  const text = `${view.midLine ? "\n" : ""}${line.trimEnd()}\n`;
  const question = step.role === "__wait__" ? step.content : null;
  const previous = { number, role: step.role };
  const previousAt = isKept ? view.previousAt : step.timestamp;
  return { view: { ...view, previousAt, previous, question, midLine: false }, text };
}

type EventItem = Extract<FollowItem, { kind: "event" }>;

function showEvent(view: View, event: EventItem["event"], look: Look) {
  const payload = isObject(event.payload) ? event.payload : {};
  const counted = count(view, payload);
  if (!look.terminal) return { view: counted, text: "" };
  if (event.type === "llm_token") return showDelta(counted, textOf(payload.delta), look);
  const line = eventLine(event.type ?? "", payload);
  if (line === null) return { view: counted, text: "" };
  const closed = closeLine(counted);
  const shown = look.paint("dim", cut(`     ${line}`, look.columns));
  return { view: closed.view, text: `${closed.text}${shown}\n` };
}

function showDelta(view: View, delta: string, { paint }: Look) {
  if (delta === "") return { view, text: "" };
  const shown = plain(delta);
  return { view: { ...view, midLine: !shown.endsWith("\n") }, text: paint("dim", shown) };
}

function eventLine(type: string, payload: Record<string, unknown>): string | null {
  const name = oneLine(textOf(payload.name));
  switch (type) {
    case "tool_start":
    case "llm_tool_use":
      return `> ${name} ${oneLine(textOf(payload.inputSummary ?? payload.input))}`.trimEnd();
    case "tool_message":
      return oneLine(`${name}: ${textOf(payload.message)}`);
    case "step_print":
      return oneLine(textOf(payload.value));
    case "llm_error":
    case "tool_error":
    case "step_error":
      return `error: ${oneLine(textOf(payload.error))}`;
    default:
      return null;
  }
}

function count(view: View, { usage, cost_usd: cost }: Record<string, unknown>): View {
  const spent = isObject(usage) ? usage : {};
  const whole = numberOf(spent.total_tokens);
  const tokens = whole || numberOf(spent.input_tokens) + numberOf(spent.output_tokens);
  return { ...view, tokens: view.tokens + tokens, cost: view.cost + numberOf(cost) };
}

function closeLine(view: View): { view: View; text: string } {
  return { view: { ...view, midLine: false }, text: view.midLine ? "\n" : "" };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const numberOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : 0;

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : (JSON.stringify(value) ?? "");
}
