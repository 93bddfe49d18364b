import {
  type Attempt,
  AttemptLog,
  type AttemptTurn,
  type EventRecord,
  knownEvent,
} from "@uncaged/workflow/records";
import type { Observed, Step, ThreadStatus } from "@uncaged/workflow/host";
import {
  attemptName,
  attemptSpent,
  durationText,
  failedTryText,
  noteLine,
  retryText,
  toolCall,
  toolLine,
} from "../output/attempt.ts";
import { positionLine } from "../output/error.ts";
import { questionText } from "../output/outcome.ts";
import type { Look } from "../output/style.ts";
import { contentText } from "../output/thread.ts";
import { elapsed, firstLine, oneLine, padded, plain, truncate } from "../output/text.ts";

const indent = "     ";
const longestThought = 500;
const widestRole = 30;
const mostLive = 8;

/**
 * The already written output of a running attempt: all turns before `from`, and the first `chars` characters of the
 * other turns.
 */
type Written = { name: string; from: number; chars: Map<AttemptTurn, number> };

function restOf(state: ThreadStatus): string | null {
  if (state.status === "paused") return "paused";
  return state.status === "waiting" ? questionText(state.question) : null;
}

type TextTurn = Extract<AttemptTurn, { kind: "thinking" | "text" }>;
type ToolTurn = Extract<AttemptTurn, { kind: "tool" }>;

const whole = Number.POSITIVE_INFINITY;

/** Events that a pipe shows too. */
const always: ReadonlySet<string> = new Set(["step_print", "step_warning", "worker_start"]);

/**
 * The live view of a thread: text for each observed item, and progress lines. On a terminal, the text of a single
 * running attempt appears as it arrives, and the text of several attempts line by line. Thinking and each tool get a
 * line. A pipe shows the steps, the failures and the workflow's output.
 */
export class View {
  readonly #look: Look;
  #log = new AttemptLog();
  readonly #running = new Map<Attempt, Written>();
  /** Name of each attempt, from its first event until its step. */
  readonly #names = new Map<Attempt, string>();
  /** Failures to report next, unless the step of the attempt arrives first because the workflow caught the failure. */
  readonly #failures = new Map<Attempt, string[]>();
  /** Attempts whose failure was written before their step arrived. */
  readonly #reported = new WeakSet<Attempt>();
  /** The attempt whose text ends at the cursor. */
  #midLine: Attempt | null = null;
  #previous: { number: number; role: string } | null = null;
  #previousAt = 0;
  #roleWidth = 10;
  /** State of a thread that does not run. */
  #resting: string | null = null;

  constructor(look: Look) {
    this.#look = look;
  }

  get midLine(): boolean {
    return this.#midLine !== null;
  }

  /** Processes an item, in order. Returns the text to write. */
  show(item: Observed): string {
    switch (item.kind) {
      case "start":
        this.#log = new AttemptLog({ saved: item.start.forkFrom?.steps ?? 0 });
        this.#previousAt = item.start.timestamp;
        return "";
      case "step":
        return this.#step(item.number, item.step);
      case "event":
        return this.#event(item.event);
      case "status":
        this.#resting = restOf(item.state);
        return "";
      case "end":
        return this.#end(item.end.content);
      default:
        return "";
    }
  }

  /** Returns the progress lines, one for each running attempt. */
  live(now: number): string[] {
    const since = elapsed(now - this.#previousAt);
    if (this.#resting !== null) return [`${this.#resting}, ${since}`];
    const parents = new Set([...this.#running.keys()].map(({ parent }) => parent));
    const leaves = [...this.#running].filter(([{ attempt }]) => !parents.has(attempt));
    const named = leaves
      .map(([attempt, { name }]) => [attempt, labelOf(attempt, name)] as const)
      .filter(([, label]) => label !== "");
    if (named.length === 0) {
      const { number, role } = this.#previous ?? {};
      const before = number === undefined ? "the start" : `${number} ${oneLine(role ?? "")}`;
      const doing = leaves.map(([attempt]) => activityText(attempt)).join(", ");
      return [`${since} since ${before}${doing === "" ? "" : `: ${doing}`}`];
    }
    const width = Math.max(...named.map(([, label]) => Bun.stringWidth(label)));
    const lines = named.slice(0, mostLive).map(([attempt, label]) => {
      const span = durationText(attempt, now).padStart(6);
      const facts = [span, attemptSpent(attempt), activityText(attempt)].filter(Boolean);
      return [padded(label, width), ...facts].join("  ");
    });
    const more = named.length - lines.length;
    return more > 0 ? [...lines, `and ${more} more`] : lines;
  }

  #step(number: number, step: Step): string {
    const attempt = this.#log.step(number, step);
    const name = this.#names.get(attempt) || oneLine(step.role);
    const before = this.#flush(attempt, step.timestamp) + this.#close();
    this.#running.delete(attempt);
    this.#names.delete(attempt);
    this.#failures.delete(attempt);
    if (!attempt.saved) this.#previousAt = step.timestamp;
    this.#previous = { number, role: step.role };
    return `${before}${this.#reportFailures()}${this.#stepLine(number, name, step, attempt)}`;
  }

  #stepLine(number: number, name: string, step: Step, attempt: Attempt): string {
    const { paint, columns } = this.#look;
    this.#roleWidth = Math.min(widestRole, Math.max(this.#roleWidth, Bun.stringWidth(name)));
    const span = attempt.saved ? "kept" : durationText(attempt);
    const cells = [String(number).padStart(3), padded(name, this.#roleWidth), span.padStart(6)];
    const spent = attemptSpent(attempt);
    if (spent !== "") cells.push(spent);
    const head = `${cells.join("  ")}  `;
    const isFailed = attempt.status === "failed";
    const isReported = this.#reported.delete(attempt);
    const outcome = failedTryText(step) ?? "failed";
    const content = isFailed
      ? isReported
        ? `${outcome}, as above`
        : `${outcome}: ${oneLine(attempt.error?.message ?? step.content)}`
      : firstLine(contentText(step));
    const shown = truncate(content, Math.max(10, columns - Bun.stringWidth(head)));
    const painted = cells.map((cell, at) => paint(at === 1 ? "cyan" : "dim", cell)).join("  ");
    const line = `${`${painted}  ${isFailed ? paint("red", shown) : shown}`.trimEnd()}\n`;
    const at = isFailed && !isReported && attempt.error && positionLine(attempt.error);
    return at ? `${line}${this.#line(at)}` : line;
  }

  #event(event: EventRecord): string {
    const attempt = this.#log.event(event);
    const { type, timestamp } = event;
    const before = this.#reportFailures();
    if (attempt === null) return `${before}${this.#lost()}${this.#note(event)}`;
    if (attempt.status === "running" && !this.#running.has(attempt)) {
      const name = this.#nameOf(attempt);
      this.#running.set(attempt, { name, from: 0, chars: new Map() });
      this.#names.set(attempt, name);
    }
    const text = `${before}${this.#flush(attempt, timestamp)}`;
    if (type !== "attempt_end") return `${text}${this.#note(event)}`;
    const name = this.#names.get(attempt) || attemptName(attempt);
    this.#running.delete(attempt);
    if (attempt.status === "failed") {
      const facts = [durationText(attempt), attemptSpent(attempt)].filter(Boolean).join("  ");
      const why = oneLine(attempt.error?.message ?? "");
      const at = attempt.error && positionLine(attempt.error);
      const end = knownEvent(event);
      const retry = end?.type === "attempt_end" ? end.payload.retry : undefined;
      const what = retry ? `${name}: ${retryText(retry)}` : `${name} failed`;
      this.#failures.set(attempt, [`${what}  ${facts}  ${why}`.trim(), ...(at ? [at] : [])]);
    }
    return text;
  }

  /** Removes the attempts that were lost with their worker, and returns the rest of their text. */
  #lost(): string {
    const lost = [...this.#running].filter(([{ status }]) => status === "lost");
    return lost
      .map(([attempt, { name }]) => {
        const text = this.#flush(attempt, null);
        this.#running.delete(attempt);
        return `${text}${this.#look.terminal ? this.#line(`${name} was lost with its worker`) : ""}`;
      })
      .join("");
  }

  #end(summary: string): string {
    const open = [...this.#running.keys()].map((attempt) => this.#flush(attempt, null)).join("");
    this.#running.clear();
    // The last line shows the error that failed the thread.
    for (const attempt of this.#failures.keys()) {
      if (summary.includes(attempt.error?.message ?? "")) this.#failures.delete(attempt);
    }
    return `${open}${this.#close()}${this.#reportFailures()}`;
  }

  // Concurrent attempts have different names: the second `reader` is `reader 2`.
  #nameOf(attempt: Attempt): string {
    const name = attemptName(attempt);
    const taken = new Set([...this.#running.values()].map((written) => written.name));
    let unique = name;
    for (let number = 2; name !== "" && taken.has(unique); number += 1)
      unique = `${name} ${number}`;
    return unique;
  }

  /** Returns the new output of an attempt. `now` is the time of the observed item, if it has one. */
  #flush(attempt: Attempt, now: number | null): string {
    const written = this.#running.get(attempt);
    if (!written || !this.#look.terminal) return "";
    const isOver = attempt.status !== "running";
    let text = "";
    for (let at = written.from; at < attempt.turns.length; at += 1) {
      const turn = attempt.turns[at] as AttemptTurn;
      if (written.chars.get(turn) === whole) continue;
      const next = attempt.turns[at + 1];
      const isDone =
        isOver || (turn.kind === "tool" ? turn.status !== "running" : next !== undefined);
      if (turn.kind === "text") text += this.#text(attempt, written, turn, isDone);
      else if (isDone) text += this.#turn(attempt, written, turn, next?.at ?? now);
      if (isDone) written.chars.set(turn, whole);
    }
    while (written.chars.get(attempt.turns[written.from] as AttemptTurn) === whole) {
      written.from += 1;
    }
    return text;
  }

  #turn(
    attempt: Attempt,
    { name }: Written,
    turn: TextTurn | ToolTurn,
    until: number | null,
  ): string {
    const prefix = this.#isAlone(attempt) ? "" : `${name}: `;
    if (turn.kind === "tool") {
      const room = this.#look.columns - indent.length - Bun.stringWidth(prefix);
      return this.#line(`${prefix}${toolLine(turn, room)}`);
    }
    const span = until === null ? "" : ` for ${elapsed(until - turn.at)}`;
    return this.#line(`${prefix}thought${span}: ${oneLine(turn.text.slice(0, longestThought))}`);
  }

  /** Returns the new text. While several attempts run, returns only complete lines. */
  #text(attempt: Attempt, written: Written, turn: TextTurn, isDone: boolean): string {
    const from = written.chars.get(turn) ?? 0;
    const rest = turn.text.slice(from);
    if (this.#isAlone(attempt) && (from === 0 || this.#midLine === attempt)) {
      written.chars.set(turn, turn.text.length);
      if (rest === "") return "";
      const before = this.#midLine === attempt ? "" : this.#close();
      this.#midLine = rest.endsWith("\n") ? null : attempt;
      return `${before}${this.#look.paint("dim", plain(rest))}`;
    }
    const ready = isDone ? rest : rest.slice(0, rest.lastIndexOf("\n") + 1);
    written.chars.set(turn, from + ready.length);
    const prefix = written.name === "" ? "" : `${written.name}: `;
    const lines = plain(ready).split("\n");
    return lines
      .filter((line) => line.trim() !== "")
      .map((line) => this.#line(`${prefix}${line}`))
      .join("");
  }

  /** Tells whether only this attempt and the attempts that contain it are running. */
  #isAlone(attempt: Attempt): boolean {
    const around = new Set<string | null>();
    for (let each: Attempt | undefined = attempt; each; each = this.#log.find(each.parent ?? "")) {
      around.add(each.attempt);
    }
    return this.#running.keys().every((other) => around.has(other.attempt));
  }

  #note(event: EventRecord): string {
    if (!this.#look.terminal && !always.has(event.type)) return "";
    const line = noteLine(event);
    return line === null ? "" : this.#line(line);
  }

  #reportFailures(): string {
    for (const attempt of this.#failures.keys()) this.#reported.add(attempt);
    const lines = [...this.#failures.values()].flat().map((line) => this.#line(line, "red"));
    this.#failures.clear();
    return lines.join("");
  }

  #line(text: string, style: "dim" | "red" = "dim"): string {
    const shown = this.#look.paint(style, truncate(`${indent}${text}`, this.#look.columns));
    return `${this.#close()}${shown}\n`;
  }

  #close(): string {
    const text = this.#midLine === null ? "" : "\n";
    this.#midLine = null;
    return text;
  }
}

const labelOf = ({ title, role }: Attempt, name: string): string =>
  title === null ? name : `${oneLine(title)}${name.slice(oneLine(role ?? "").length)}`;

/** Returns the current activity of an attempt: a tool, thinking, or its text. */
function activityText({ turns }: Attempt): string {
  const turn = turns.findLast((each) => each.kind === "tool" && each.status === "running");
  if (turn?.kind === "tool") return `runs ${toolCall(turn)}`;
  const last = turns.at(-1);
  if (last?.kind === "thinking") return "thinks";
  return last?.kind === "text" ? oneLine(last.text.slice(-200)).slice(-60) : "";
}
