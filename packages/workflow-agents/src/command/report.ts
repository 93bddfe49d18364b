import { StringDecoder } from "node:string_decoder";
import { addUsage, type Mask, noUsage, truncated } from "@uncaged/workflow/interpreter";
import { isWorkflowError } from "@uncaged/workflow";
import { kindOf } from "../content/sent.ts";
import { Lines } from "../child/output.ts";
import { AgentReport, currentRun, Meter, publish, type Spent } from "../run/run.ts";
import type { AgentOutput, LineReader } from "./reader.ts";
import { outputTooLong } from "./errors.ts";

const notStarted = new Set(["COMMAND_MISSING", "COMMAND_REFUSED", "NO_CWD"]);
const mostNotes = 1000;
const working = new Set(["text", "thinking", "toolUse", "toolResult", "said"]);

/** Publishes a command's output with masked secrets, and keeps the parts that the step needs. */
export class CommandReport {
  session: string | null = null;
  result = "";
  /** Whether the command has reported an answer, possibly an empty answer. */
  isAnswered = false;
  failure: string | null = null;
  isOverBudget = false;
  #said = "";
  #isUnread = false;
  /** Whether the command continued after its answer. */
  #goesOn = false;
  readonly #report = new AgentReport();
  readonly #end = { usage: noUsage, model: null as string | null, hasToolUse: false };
  readonly #mask: Mask;
  readonly #name: string;
  readonly #onSession: ((id: string) => void) | undefined;
  readonly #text: ReturnType<Mask["stream"]>;
  readonly #thinking: ReturnType<Mask["stream"]>;
  readonly #spending: CommandSpending | null;
  #lastError = "";
  #lastStray = "";
  #errors = 0;

  /** @param reportsSpending Whether the command reports its spending. If so, a run without a report was interrupted. */
  constructor(
    name: string,
    mask: Mask,
    { reportsSpending, onSession }: { reportsSpending: boolean; onSession?: (id: string) => void },
  ) {
    this.#onSession = onSession;
    this.#name = name;
    this.#mask = mask;
    this.#spending = reportsSpending ? new CommandSpending(name) : null;
    this.#text = mask.stream();
    this.#thinking = mask.stream();
  }

  /** The last line of stderr, or the last line of output that is not JSON. */
  get lastLine(): string {
    return this.#mask(this.#lastError || this.#lastStray);
  }

  /** Resolves when the journal has recorded the start of the command. The command must not start earlier. */
  async begun(): Promise<void> {
    await this.#spending?.begun();
  }

  add(output: AgentOutput): void {
    if (working.has(output.kind)) this.#goesOn = true;
    if (output.kind !== "text") this.#delta("llm_token", this.#text.end());
    if (output.kind !== "thinking") this.#delta("llm_thinking", this.#thinking.end());
    switch (output.kind) {
      case "text":
        return this.#delta("llm_token", this.#text.push(output.delta));
      case "thinking":
        return this.#delta("llm_thinking", this.#thinking.push(output.delta));
      case "toolUse": {
        const { id, name, input } = output;
        this.#end.hasToolUse = true;
        this.#said = "";
        return publish("llm_tool_use", { tool_use_id: id, name, input: this.#mask.value(input) });
      }
      case "toolResult": {
        const content = this.#mask.value(output.content) ?? null;
        const payload = { tool_use_id: output.id, content, is_error: output.isError };
        this.#said = "";
        return publish("llm_tool_result", payload);
      }
      case "session":
        return this.#began(output.id);
      case "model":
        return this.#spending?.checkPrice(output.model, (warning) => this.note("warn", warning));
      case "said":
        this.#said = this.#mask(output.text).trim();
        // The command continues after a failure.
        this.failure = null;
        return;
      case "usage":
        return this.#spending?.update(output.id, output.spent);
      case "broken":
        return this.#spending?.broke(output.model);
      case "spent":
        this.#spending?.add(output.spent);
        this.#end.usage = addUsage(this.#end.usage, output.spent.usage);
        this.#end.model = output.spent.model;
        return;
      case "result":
        // A custom reader may pass on unchecked values.
        if (typeof output.text !== "string") {
          this.failure = `invalid result: ${kindOf(output.text)}, not text`;
          this.#isUnread = true;
          return;
        }
        this.#goesOn = false;
        this.result = this.#mask(output.text).trim();
        this.isAnswered = true;
        // The command has recovered from an earlier failure.
        this.failure = null;
        return;
      case "failed":
        this.failure = this.#mask(output.message) || "no reason given";
        this.#isUnread = output.isUnread === true;
        this.isOverBudget = output.overBudget === true;
    }
  }

  /** Whether the command's last report is an answer, which the command's exit code does not change. */
  get isFinished(): boolean {
    return this.isAnswered && !this.#goesOn && this.failure === null && this.#answer !== "";
  }

  /** The answer: the result, or the last message if the result is empty or unreadable. */
  get #answer(): string {
    return this.result || this.#said;
  }

  /** Ends the output. Without a reported answer, the last message is the answer. */
  conclude(): void {
    if (this.result !== "" || this.#said === "" || (this.failure !== null && !this.#isUnread))
      return;
    this.note("warn", `${this.failure ?? "no result reported"}: the last message is the answer`);
    this.result = this.#said;
    this.failure = null;
  }

  /** Reads a line of the error output. Publishes the line unless too many were published. */
  addError(line: string): void {
    if (line.trim() === "") return;
    this.#lastError = line;
    this.#errors += 1;
    if (this.#errors <= mostNotes) this.note("info", line);
  }

  addStray(line: string): void {
    this.#lastStray = line;
    this.note("warn", line);
  }

  note(level: "info" | "warn", line: string): void {
    const message = truncated(this.#mask(line));
    publish("tool_message", { name: this.#name, level, message, data: null });
  }

  /** Records that the command ended before it called a model. */
  noCall(): void {
    this.#spending?.end();
  }

  done(): void {
    this.#flush();
    for (const spent of this.#spending?.unsummed() ?? []) this.add({ kind: "spent", spent });
    this.#spending?.end();
    this.#report.done(this.#end);
  }

  failed(error: unknown): void {
    this.#flush();
    if (isWorkflowError(error) && notStarted.has(error.code)) this.#spending?.end();
    else this.#spending?.breakOff();
    this.#report.failed(error, "the command agent failed");
  }

  /** Records the session at once, so that a step can resume the session of a killed command. */
  #began(session: string): void {
    if (this.session === session) return;
    this.session = session;
    publish("session", { agent: this.#name, session_id: session });
    this.#onSession?.(session);
  }

  #flush(): void {
    this.#delta("llm_thinking", this.#thinking.end());
    this.#delta("llm_token", this.#text.end());
  }

  #delta(type: "llm_token" | "llm_thinking", delta: string): void {
    if (delta !== "") publish(type, { delta });
  }
}

/** Counts the spending of one run of a command: the usage of single answers, until the command reports totals. */
class CommandSpending {
  readonly #run = currentRun();
  readonly #answers = new Map<string, Spent>();
  readonly #meters = new Map<string, Meter>();
  #first: Meter | null;
  #isComplete = false;
  #isChecked = false;

  constructor(name: string) {
    this.#first = new Meter(name);
  }

  async begun(): Promise<void> {
    await this.#first?.begun();
  }

  /** Warns once that a limit does not apply to a model without a price. */
  checkPrice(model: string, warn: (text: string) => void): void {
    const { limitsCost = false, withCost } = this.#run;
    if (this.#isChecked || !limitsCost) return;
    this.#isChecked = true;
    const one = { model, usage: { ...noUsage, input_tokens: 1, output_tokens: 1 }, cost: null };
    if (withCost?.(one).cost !== null) return;
    const hint = `{"${model}": {"input": 1, "output": 5}}`;
    warn(
      `the price of model ${model} is not known: only a cost that the command reports counts toward the limit; set the price in UNCAGED_WORKFLOW_PRICES: ${hint}`,
    );
  }

  update(id: string, spent: Spent): void {
    this.#answers.set(id, spent);
    this.#meterOf(spent.model).update(this.#sumOf(spent.model));
  }

  /** Records that an answer broke off, and may have used more tokens than were counted. */
  broke(model: string): void {
    new Meter(model).breakOff();
  }

  add(spent: Spent): void {
    this.#isComplete = true;
    const meter = this.#meterOf(spent.model);
    this.#spend({ ...spent, call: meter.call });
    meter.end(spent);
    this.#meters.delete(spent.model);
  }

  end(): void {
    this.#first?.free();
    for (const meter of this.#meters.values()) meter.free();
  }

  /** Falls back to the usage of single answers, unless the command reported a total. */
  breakOff(): void {
    if (this.#isComplete) return this.end();
    for (const sum of this.unsummed()) {
      this.#spend({ ...sum, call: this.#meterOf(sum.model).call });
    }
    for (const meter of [this.#first, ...this.#meters.values()]) meter?.breakOff();
  }

  /** Returns the usage by model of a command that answered without reporting a total. */
  unsummed(): Spent[] {
    if (this.#isComplete) return [];
    const models = new Set([...this.#answers.values()].map(({ model }) => model));
    return [...models].map((model) => this.#sumOf(model));
  }

  #spend(spent: Spent): void {
    this.#run.spent.push(spent);
    this.#run.onSpent?.(spent);
  }

  #sumOf(model: string): Spent {
    const all = [...this.#answers.values()].filter((spent) => spent.model === model);
    const usage = all.reduce((sum, spent) => addUsage(sum, spent.usage), noUsage);
    return { model, usage, cost: null };
  }

  #meterOf(model: string): Meter {
    const meter = this.#meters.get(model) ?? this.#first ?? new Meter(model);
    this.#first = null;
    this.#meters.set(model, meter);
    return meter;
  }
}

export type ByteReader = { add: (chunk: Uint8Array) => void; end: () => void };

export function readText(maxOutput: number, report: CommandReport): ByteReader {
  const decoder = new StringDecoder("utf8");
  const pieces: string[] = [];
  let length = 0;
  const take = (delta: string): void => {
    length += delta.length;
    if (length > maxOutput) throw outputTooLong(maxOutput);
    pieces.push(delta);
    report.add({ kind: "text", delta });
  };
  return {
    add: (chunk) => take(decoder.write(Buffer.from(chunk))),
    end: () => {
      take(decoder.end());
      report.add({ kind: "result", text: pieces.join("") });
    },
  };
}

/** Removes from a line terminal sequences, a byte order mark, and text that a carriage return overwrites. */
function withoutDisplay(line: string): string {
  // oxlint-disable-next-line no-control-regex
  const plain = line.replace(
    /\u001b(\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(\u0007|\u001b\\))/g,
    "",
  );
  return plain.replace(/^\ufeff/, "").replace(/^[^{]*\r(?=\{)/, "");
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const longestLine = 64 * 1024 * 1024;

/**
 * Returns a reader of output lines.
 * @param most The maximum number of bytes of all lines together.
 */
export function readLines(reader: LineReader, report: CommandReport, most: number): ByteReader {
  const read = reader();
  let bytes = 0;
  const takeLine = (line: string): void => {
    if (line.trim() === "") return;
    const value = jsonIn(line) ?? jsonIn(withoutDisplay(line));
    if (value === undefined) return report.addStray(line);
    for (const output of read(value)) report.add(output);
  };
  const lines = new Lines(longestLine, takeLine, () => {
    throw outputTooLong(longestLine);
  });
  return {
    add(chunk) {
      bytes += chunk.length;
      if (bytes > most) throw outputTooLong(most);
      lines.add(chunk);
    },
    end: () => lines.end(),
  };
}
