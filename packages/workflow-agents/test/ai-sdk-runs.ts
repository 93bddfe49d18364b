import { expect } from "bun:test";
import { join } from "node:path";
import { settled } from "@uncaged/workflow/host";
import { type Model, ModelRuns, type Run } from "./model-runs.ts";
import type { Fault, Reply, ReplyTool } from "./wire.ts";

/* Threads that run a program of the AI SDK, with scripted answers of its models. */

type Body = { messages?: { role?: string }[]; input?: { role?: string }[] };

/** A single fault at a turn: the worker is killed before the answer or during the answer, or the server fails. */
export type AtTurn = { turn: number; kind: "asked" | "answering" } | { turn: number; fault: Fault };

export type Way =
  | "generate"
  | "stream"
  | "stream once"
  | "parallel"
  | "object"
  | "agent"
  | "agent-stream";

/** Returns the number of the requested turn. Each earlier turn is one message of the model. */
export const turnOf = ({ messages, input = [] }: Body): number =>
  (messages ?? input).filter(({ role }) => role === "assistant").length + 1;

/**
 * The answer to each question, and an action before it. `isCounted`: whether the ledger must equal the servers' counts.
 */
type Finishing = { answer?: unknown; before?: () => Promise<void>; isCounted?: boolean };

export const call = (name: string, n: number): ReplyTool => ({ name, input: { n } });

/** Replaces the request number in each id by its position among the text's distinct request numbers. */
function withOwnIds(text: string): string {
  const id = /"(toolu|call|fc|rs|msg)_(\d+)/g;
  const requests = [...new Set([...text.matchAll(id)].map(([, , n]) => n))];
  return text.replace(id, (_, name: string, n: string) => `"${name}_${requests.indexOf(n)}`);
}

/** Runs programs of the AI SDK in threads. Scripts the answers and faults of their models' servers. */
export class AiSdkRuns {
  readonly models: ModelRuns;
  /** The tool calls of each turn before the last. */
  turns: ReplyTool[][] = [];
  /** The text of the last turn. */
  last = "all done";
  #at: AtTurn | null = null;

  private constructor(open: (reply: (body: Body) => Reply) => ModelRuns) {
    this.models = open((body) => this.#reply(body));
  }

  static async open(): Promise<AiSdkRuns> {
    let reply: (body: Body) => Reply = () => ({});
    const models = await ModelRuns.open((body) => reply(body));
    await models.host.register("assistant", join(import.meta.dir, "ai-sdk/assistant.ts"));
    return new AiSdkRuns((own) => {
      reply = own;
      return models;
    });
  }

  #reply(body: Body): Reply {
    const turn = turnOf(body);
    const at = this.#at?.turn === turn ? this.#at : null;
    if (at) this.#at = null;
    if (at && "kind" in at) {
      if (at.kind === "asked") {
        void this.models.kill();
        return { fault: { kind: "hang" } };
      }
      const held = this.models.killInAnswer();
      return { text: "I begin to mark it all", held, fault: { kind: "half-event", after: 5 } };
    }
    const fault = at && "fault" in at ? at.fault : undefined;
    const tools = this.turns[turn - 1];
    if (!tools) return { thinking: "enough", text: this.last, fault };
    return { thinking: `turn ${turn}`, text: `I mark ${turn}. `, tools, fault };
  }

  /** Starts a thread whose process exits at a turn or at a place of the bundle. */
  async start(model: Model, way: Way, at: AtTurn | string = ""): Promise<Run> {
    this.#at = typeof at === "string" ? null : at;
    const die = typeof at === "string" ? at : "";
    const api = model === "responses" ? "responses" : "gpt";
    return await this.models.start("assistant", `${model} ${way}`, die, api);
  }

  /** Resumes and answers a thread until it ends. `before` runs before each answer. Returns the thread's questions. */
  async finished(
    { ref, env, cwd }: Run,
    { answer = true, before = async () => {}, isCounted = true }: Finishing = {},
  ) {
    const { host } = this.models;
    const questions: Record<string, unknown>[] = [];
    let resumes = 0;
    for (;;) {
      const view = await settled(host, ref);
      if (view.status === "interrupted") {
        resumes += 1;
        await host.control(ref, { kind: "resume", env, cwd });
      } else if (view.status !== "waiting") {
        if (isCounted) await this.models.expectCounted(ref);
        return { view, questions, resumes };
      } else {
        questions.push(view.question.meta);
        await before();
        const input = { content: JSON.stringify(answer), value: answer, meta: {} };
        await host.control(ref, { kind: "answer", input, env, cwd });
      }
    }
  }

  /** Returns the numbers of the tools' marks, sorted. */
  marksOf(run: Run): number[] {
    return this.models
      .marksOf(run)
      .map(Number.parseFloat)
      .sort((a, b) => a - b);
  }

  /** Returns the received bodies by turn. */
  bodiesOf(model: Model): Map<number, string[]> {
    const bodies = new Map<number, string[]>();
    for (const { body } of this.models.servers[model].came) {
      const turn = turnOf(body as Body);
      bodies.set(turn, [...(bodies.get(turn) ?? []), withOwnIds(JSON.stringify(body))]);
    }
    return bodies;
  }

  /**
   * Expects the requests to equal those of an undisturbed run, byte for byte. Each turn in `twice` must have two
   * requests.
   */
  expectSame(model: Model, whole: Map<number, string[]>, twice: readonly number[]): void {
    const bodies = this.bodiesOf(model);
    expect([...bodies.keys()]).toEqual([...whole.keys()]);
    for (const [turn, [text = ""]] of whole) {
      const expected = twice.includes(turn) ? [text, text] : [text];
      expect({ turn, bodies: bodies.get(turn) }).toEqual({ turn, bodies: expected });
    }
  }
}
