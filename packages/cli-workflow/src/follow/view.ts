import type { FollowItem, Step } from "@uncaged/workflow/host";
import { ledgerOf, noTally, type Tally } from "@uncaged/workflow-agents/ledger";
import type { Look } from "../output/style.ts";
import { contentText, ownDuration } from "../output/thread.ts";
import { spentText } from "../output/ledger.ts";
import { truncate, firstLine, oneLine } from "../output/text.ts";
import { elapsed } from "../output/time.ts";
import { closeInside, type Inside, insideText, noInside, partedBy, showEvent } from "./inside.ts";
import { questionOf } from "../output/outcome.ts";

/** What a live view has to remember between two items. Times are in milliseconds since the epoch. */
export type View = {
  /** How many of the first steps a fork has brought along. */
  kept: number;
  /** When the thread's previous own step was committed, or the thread began. */
  previousAt: number;
  /** The previous step by its number, for the spinner. */
  previous: { number: number; role: string } | null;
  status: string;
  question: string | null;
  /** How wide the column of roles is: as the widest role so far, within bounds. */
  roleWidth: number;
  /** What goes on in the step that is being made. */
  inside: Inside;
};

const widestRole = 30;

/** The view of a thread that began at this moment, with so many steps of another. */
export function beginView(createdAt: number, kept: number): View {
  return {
    kept,
    previousAt: createdAt,
    previous: null,
    status: "running",
    question: null,
    roleWidth: 10,
    inside: noInside,
  };
}

/** What an item adds to the view, and the text that it writes. */
export function showItem(view: View, item: FollowItem, look: Look): { view: View; text: string } {
  switch (item.kind) {
    case "step":
      return showStep(view, item, look);
    case "status":
      return { view: { ...view, status: item.status }, text: "" };
    case "event": {
      const { inside, text } = showEvent(view.inside, item.event, look);
      return { view: { ...view, inside }, text };
    }
    case "end":
      return { view: { ...view, inside: noInside }, text: closeInside(view.inside, look) };
  }
}

/** The line that shows what is waited for, and for how long. */
export function waitLine(view: View, now: number): string {
  const span = elapsed(now - view.previousAt);
  if (view.status === "paused") return `paused, ${span}`;
  const doing = insideText(view.inside);
  const since = view.previous
    ? `${span} since ${view.previous.number} ${oneLine(view.previous.role)}`
    : `${span} since the start`;
  return doing === "" ? since : `${since}: ${doing}`;
}

type StepItem = Extract<FollowItem, { kind: "step" }>;

function showStep(view: View, { number, step }: StepItem, look: Look) {
  const { paint, columns } = look;
  const role = oneLine(step.role);
  const isKept = number <= view.kept;
  const span = isKept ? "kept" : elapsed(ownDuration(step) ?? step.timestamp - view.previousAt);
  const { over, rest } = partedBy(view.inside, step);
  const told = ownDuration(step) === null ? over.told : noTally;
  const spent = isKept ? noTally : spentBy(step, told);
  const width = Bun.stringWidth(role);
  const roleWidth = Math.min(widestRole, Math.max(view.roleWidth, width));
  const room = " ".repeat(Math.max(0, roleWidth - width));
  const cells = [String(number).padStart(3), role + room, span.padStart(6)];
  const price = spentText(spent);
  if (price !== "") cells.push(price);
  const head = `${cells.join("  ")}  `;
  const said = truncate(
    firstLine(contentText(step)),
    Math.max(10, columns - Bun.stringWidth(head)),
  );
  const painted = cells.map((cell, at) => paint(at === 1 ? "cyan" : "dim", cell)).join("  ");
  const text = `${closeInside(over, look)}${`${painted}  ${said}`.trimEnd()}\n`;
  return {
    view: {
      ...view,
      previousAt: isKept ? view.previousAt : step.timestamp,
      previous: { number, role: step.role },
      question: questionOf(step),
      roleWidth,
      inside: rest,
    },
    text,
  };
}

/** What a step says that it spent; what its events told of, when it says nothing. */
function spentBy(step: Step, told: Tally): Tally {
  const { total, steps } = ledgerOf([step]);
  return steps.length > 0 ? total : told;
}
