import { expect } from "bun:test";
import type { PlannerOutput } from "../../src/entry/index.ts";
import { answerTo, decisionOn } from "./plans.ts";

/*
 * A direct, slow model of a plan's run that shares no code with the interpreter. The model reads a thread's records in
 * order and checks that each record is allowed at its place.
 */

type Committed = { role: string; content: string; meta: Record<string, unknown> };

type One = {
  state: "new" | "working" | "between" | "succeeded" | "failed" | "skipped";
  attempt: number;
  series: number;
  begun: number;
  output: string;
  inputs: unknown;
};

export class Oracle {
  readonly #seed: number;
  readonly #plan: PlannerOutput;
  readonly #limit: number;
  readonly #steps: Map<string, One>;
  #open: string[] = [];
  #asked: string | null = null;
  #stopped: string | null = null;
  #failures: string[] = [];

  constructor(seed: number, plan: PlannerOutput, limit: number) {
    this.#seed = seed;
    this.#plan = plan;
    this.#limit = limit;
    const fresh = { attempt: 0, series: 0, begun: 0, output: "", inputs: null };
    this.#steps = new Map(plan.steps.map(({ id }) => [id, { state: "new", ...fresh }]));
  }

  get firstFailed(): string | undefined {
    return this.#failures[0];
  }

  get states(): Record<string, string> {
    return Object.fromEntries(Array.from(this.#steps, ([id, { state }]) => [id, state]));
  }

  get isDone(): boolean {
    const ends = ["succeeded", "failed", "skipped"];
    return (
      this.#open.length === 0 &&
      [...this.#steps.values()].every(({ state }) => ends.includes(state))
    );
  }

  read({ content, meta, role }: Committed): void {
    if (role === "__wait__") return this.#readWait(meta);
    if (role === "__input__") return this.#readAnswer(meta);
    const one = this.#one(role);
    const at = `${role} ${String(meta.event)} ${String(meta.attempt)}`;
    switch (meta.event) {
      case "started":
        return this.#readStart(role, one, meta, at);
      case "succeeded":
        this.#must(at, one.state === "working" && this.#answer(role, one) === content);
        one.state = "succeeded";
        one.output = content;
        return;
      case "attempt_failed":
        this.#must(at, this.#hasFailed(role, one) && one.series < this.#retries);
        one.series += 1;
        one.state = "between";
        return;
      case "failed":
        return this.#readFailure(role, one, meta, at);
      case "skipped": {
        const because = String(meta.because);
        const isDependency = this.#dependencies(role).includes(because) && this.#isLost(because);
        this.#must(at, one.state === "new");
        this.#must(`${at} because ${because}`, because === this.#stopped || isDependency);
        one.state = "skipped";
        return;
      }
      default:
        this.#must(at, false);
    }
  }

  get #retries(): number {
    return this.#plan.failure_policy.max_retries;
  }

  #readStart(id: string, one: One, meta: Committed["meta"], at: string): void {
    const isAgain = one.state === "working" && meta.attempt === one.attempt;
    const isNext = one.state === "new" || one.state === "between";
    this.#must(at, this.#stopped === null || isAgain);
    this.#must(at, isAgain ? one.begun < 2 : isNext && meta.attempt === one.attempt + 1);
    if (one.state === "new") this.#must(`${at} while asked`, this.#open.length === 0);
    const dependencies = this.#dependencies(id);
    const outputs = dependencies.map((each) => [each, this.#one(each).output]);
    this.#must(
      at,
      dependencies.every((each) => this.#one(each).state === "succeeded"),
    );
    expect({ at, inputs: meta.inputs }).toEqual({ at, inputs: Object.fromEntries(outputs) });
    one.inputs = meta.inputs;
    one.begun = isAgain ? one.begun + 1 : 1;
    one.attempt = Number(meta.attempt);
    one.state = "working";
    const working = [...this.#steps.values()].filter(({ state }) => state === "working").length;
    this.#must(`${at}: ${working} at once`, working <= this.#limit);
  }

  #readFailure(id: string, one: One, meta: Committed["meta"], at: string): void {
    if (meta.cancelled === true) {
      this.#must(at, this.#stopped !== null && ["working", "between"].includes(one.state));
      one.state = "failed";
      return;
    }
    this.#must(at, this.#hasFailed(id, one) && one.series === this.#retries);
    one.state = "failed";
    this.#failures.push(id);
    // The step may fail before the stopped plan cancels it.
    if (this.#stopped !== null) return;
    const { on_step_failure: policy } = this.#plan.failure_policy;
    if (policy === "stop") this.#stopped = id;
    if (policy === "ask_user") this.#open.push(id);
  }

  #readWait(meta: Committed["meta"]): void {
    const isQuiet = [...this.#steps.values()].every(
      ({ state }) => state !== "working" && state !== "between",
    );
    const [first] = this.#open;
    expect({ isQuiet, asked: meta.stepId }).toEqual({ isQuiet: true, asked: first });
    this.#asked = first ?? null;
  }

  #readAnswer({ value }: Committed["meta"]): void {
    const id = this.#asked ?? "";
    const one = this.#one(id);
    this.#open.shift();
    expect(value).toBe(decisionOn(this.#seed, id, one.attempt));
    if (value === "retry") {
      one.state = "new";
      one.series = 0;
      this.#failures = this.#failures.filter((each) => each !== id);
    }
    if (value === "abort") {
      this.#stopped = id;
      this.#open = [];
    }
  }

  #one(id: string): One {
    const one = this.#steps.get(id);
    if (!one) throw new Error(`no step ${id} found`);
    return one;
  }

  #dependencies(id: string): string[] {
    return this.#plan.steps.find((one) => one.id === id)?.depends_on ?? [];
  }

  #isLost(id: string): boolean {
    const { state } = this.#one(id);
    return state === "skipped" || (state === "failed" && !this.#open.includes(id));
  }

  #answer(id: string, { attempt, inputs }: One): string | null {
    return answerTo(this.#seed, id, inputs, attempt);
  }

  /** Tells whether an attempt failed: its agent failed, or it was interrupted twice. */
  #hasFailed(id: string, one: One): boolean {
    return one.state === "working" && (one.begun === 2 || this.#answer(id, one) === null);
  }

  #must(what: string, holds: boolean): void {
    expect({ what, holds }).toEqual({ what, holds: true });
  }
}
