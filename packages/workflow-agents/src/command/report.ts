import { isWorkflowError, type Mask, truncated } from "@uncaged/workflow";
import { type RoleRun, currentRun, Meter, publish } from "../run/run.ts";
import { addUsage, noUsage, type Spent, type Usage } from "../run/usage.ts";
import type { AgentOutput } from "./reader.ts";

const notStarted = new Set(["COMMAND_MISSING", "COMMAND_REFUSED", "NO_CWD"]);

type Stream = ReturnType<Mask["stream"]>;

/** Publishes what a command says, masked, and keeps of it what the step needs. */
export class Report {
  readonly #began = performance.now();
  readonly #mask: Mask;
  readonly #name: string;
  readonly #text: Stream;
  readonly #thinking: Stream;
  readonly #spending: RunSpending | null;
  #usage: Usage = noUsage;
  #model: string | null = null;
  #hasToolUse = false;
  session: string | null = null;
  result: string | null = null;
  failure: string | null = null;
  isOverBudget = false;

  /** `tellsSpending`: what it says is read for what it spends, so that a run without it is one cut short. */
  constructor(name: string, mask: Mask, tellsSpending: boolean) {
    this.#name = name;
    this.#mask = mask;
    this.#spending = tellsSpending ? new RunSpending(currentRun(), name) : null;
    this.#text = mask.stream();
    this.#thinking = mask.stream();
  }

  hear(said: AgentOutput): void {
    if (said.kind !== "text") this.#tell("llm_token", this.#text.end());
    if (said.kind !== "thinking") this.#tell("llm_thinking", this.#thinking.end());
    switch (said.kind) {
      case "text":
        return this.#tell("llm_token", this.#text.push(said.delta));
      case "thinking":
        return this.#tell("llm_thinking", this.#thinking.push(said.delta));
      case "toolUse":
        return this.#toolUse(said);
      case "toolResult":
        return this.#toolResult(said);
      case "session":
        this.session = said.id;
        return;
      case "told":
        return this.#spending?.tell(said.id, said.spent);
      case "spent":
        this.#spending?.add(said.spent);
        this.#usage = addUsage(this.#usage, said.spent.usage);
        this.#model = said.spent.model;
        return;
      case "result":
        this.result = this.#mask(said.text);
        // What went wrong before was got over.
        this.failure = null;
        return;
      case "failed":
        this.failure = this.#mask(said.message);
        this.isOverBudget = said.overBudget === true;
    }
  }

  /** A line that is not for the model's answer: what stands on the error output, most of all. */
  note(level: "info" | "warn", line: string): void {
    const message = this.#mask(line);
    publish("tool_message", { name: this.#name, level, message: truncated(message), data: null });
  }

  /** The command ended before it asked a model anything. */
  unasked(): void {
    this.#spending?.end();
  }

  done(): void {
    this.#flush();
    this.#spending?.end();
    const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = this.#usage;
    const total_tokens = input_tokens + output_tokens + cache_read_tokens + cache_write_tokens;
    publish("llm_done", {
      latency_ms: this.#elapsed(),
      finish_reason: "end_turn",
      model: this.#model,
      usage: { ...this.#usage, total_tokens },
      thinking_tokens: this.#usage.thinking_tokens,
      has_tool_use: this.#hasToolUse,
    });
  }

  failed(error: unknown): void {
    this.#flush();
    const known = isWorkflowError(error) ? error : null;
    if (known && notStarted.has(known.code)) this.#spending?.end();
    else this.#spending?.breakOff();
    publish("llm_error", {
      error: known?.message ?? "the command agent failed",
      type: known?.code === "COMMAND_TIMEOUT" ? "timeout" : "unknown_error",
      code: known?.code ?? "INTERNAL",
      retryable: false,
      latency_ms: this.#elapsed(),
    });
  }

  #toolUse({ id, name, input }: AgentOutput & { kind: "toolUse" }): void {
    this.#hasToolUse = true;
    publish("llm_tool_use", { tool_use_id: id, name, input: this.#mask.value(input) });
  }

  #toolResult({ id, content, isError }: AgentOutput & { kind: "toolResult" }): void {
    const whole = this.#mask.value(content) ?? null;
    publish("llm_tool_result", { tool_use_id: id, content: whole, is_error: isError });
  }

  #flush(): void {
    this.#tell("llm_thinking", this.#thinking.end());
    this.#tell("llm_token", this.#text.end());
  }

  #tell(type: "llm_token" | "llm_thinking", delta: string): void {
    if (delta !== "") publish(type, { delta });
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#began);
  }
}

/**
 * Counts what one run of a command spends: what it tells of each answer of its models while it runs, until
 * it tells what all of them used.
 */
export class RunSpending {
  readonly #call: RoleRun;
  readonly #answers = new Map<string, Spent>();
  readonly #meters = new Map<string, Meter>();
  #first: Meter | null;
  #isTold = false;

  constructor(call: RoleRun, name: string) {
    this.#call = call;
    this.#first = new Meter(name);
  }

  /** What was counted so far of one answer. */
  tell(id: string, spent: Spent): void {
    this.#answers.set(id, spent);
    const sum = this.#sumOf(spent.model);
    this.#meterOf(spent.model).update(sum);
  }

  /** What a model used in the whole run. */
  add(spent: Spent): void {
    this.#isTold = true;
    this.#call.spent.push(spent);
    this.#meterOf(spent.model).end(spent);
    this.#meters.delete(spent.model);
  }

  /** The run is over, and has told all. */
  end(): void {
    this.#first?.free();
    for (const meter of this.#meters.values()) meter.free();
  }

  /** The run broke off: what its answers told is all that is known, unless it has told all. */
  breakOff(): void {
    if (this.#isTold) return this.end();
    const models = new Set([...this.#answers.values()].map(({ model }) => model));
    for (const model of models) this.#call.spent.push(this.#sumOf(model));
    for (const meter of [this.#first, ...this.#meters.values()]) meter?.breakOff();
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
