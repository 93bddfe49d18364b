import {
  type Attempts,
  Limit,
  messageOf,
  noAnswer,
  openAttempt,
  type PathPart,
  type QuestionLog,
  Scheduler,
  type Turn,
} from "@uncaged/workflow/interpreter";
import {
  INPUT,
  type RecordedAnswers,
  type RoleOutput,
  type ThreadContext,
  WAIT,
  type WorkflowEvent,
} from "@uncaged/workflow";
import type { GraphAgents } from "../agent/agent.ts";
import type { Guardrails } from "../guardrail/guardrail.ts";
import type { Outline } from "../outline/outline.ts";
import type { ApprovalMeta, GraphState, NodeMeta, NodeRun, Progress } from "../state/state.ts";
import { type ApprovalInput, reviewOf } from "../state/review.ts";
import { textOf } from "../state/arrivals.ts";
import { type Done, execute } from "./execute.ts";
import { type LogType, logEvent } from "./log.ts";
import { lostNode, outOfRounds, RunFailure } from "./errors.ts";

/** Dependencies and limits of a run. */
export type Surroundings = {
  thread: ThreadContext;
  /** Returns the idempotency key of the n-th run of a node, counted from 1. */
  keyOf: (id: string, run: number) => string;
  agents: GraphAgents;
  guardrails: Guardrails;
  /** Recorded answers of a fixture, which replace the agents. */
  recorded?: RecordedAnswers;
  /** Questions that running nodes asked, with the answers. */
  questions: QuestionLog;
  attempts?: Attempts;
  publish: (event: WorkflowEvent) => void;
  maxRounds: number;
  /** Maximum number of concurrent agents. */
  maxConcurrency: number;
};

/**
 * Drives a run from its state to its end: starts nodes, commits their results in sequence, and asks for an approval
 * when no node is running. A failed node ends the run after the running nodes have ended.
 */
export class Interpreter {
  readonly #outline: Outline;
  readonly #state: GraphState;
  readonly #around: Surroundings;
  readonly #scheduler = new Scheduler<RoleOutput, RoleOutput>();
  readonly #limit: Limit;
  #underway = 0;
  /** Number of committed steps plus steps that the running nodes will commit. */
  #rounds: number;
  #failure: { error: unknown } | null = null;

  constructor(outline: Outline, state: GraphState, rounds: number, around: Surroundings) {
    this.#outline = outline;
    this.#state = state;
    this.#rounds = rounds;
    this.#around = around;
    this.#limit = new Limit(around.maxConcurrency);
  }

  /**
   * Yields the steps to commit after the state's steps. `reached` contains the approvals that the last of these steps
   * reached. The caller passes the answer to a `__wait__` to `next()`.
   */
  items(reached: readonly NodeRun[]): AsyncGenerator<RoleOutput, void, RoleOutput | undefined> {
    const { current, isLost, running } = this.#state;
    if (isLost) this.#fail(lostNode());
    else this.#go({ started: [...running.values()], reached, current }, null);
    this.#endIfIdle();
    return this.#scheduler.items();
  }

  log(nodeId: string, type: LogType, content: string, attempt?: string): void {
    this.#around.publish(logEvent(nodeId, type, content, { attempt }));
  }

  /** Starts the next nodes of the state. `asked` is the approval whose question is already open. */
  #go({ started, reached, current }: Progress, asked: NodeRun | null): void {
    for (const run of started) this.#begin(1, () => this.#run(run));
    if (this.#failure) return;
    for (const run of reached) {
      const { id } = run.node;
      if (run === current) this.log(id, "step_start", "approval node");
      this.#logWait(id);
    }
    if (current === null || current === asked) return;
    // Reports a queued approval again when its turn comes.
    if (!reached.includes(current)) this.#logWait(current.node.id);
    this.#begin(2, () => this.#ask(current));
  }

  #logWait(nodeId: string): void {
    this.log(nodeId, "wait_input", "Waiting for user approval");
  }

  #begin(rounds: number, work: () => Promise<void>): void {
    if (this.#failure) return;
    this.#rounds += rounds;
    const { maxRounds } = this.#around;
    // The thread ends with its last round, so no work may remain.
    if (this.#rounds > maxRounds || (this.#rounds === maxRounds && !this.#state.isEnding)) {
      this.#fail(outOfRounds(maxRounds));
      return;
    }
    this.#underway += 1;
    void work()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#underway -= 1;
        this.#endIfIdle();
      });
  }

  #endIfIdle(): void {
    if (this.#underway === 0) this.#scheduler.close(this.#failure ?? undefined);
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    if (error instanceof RunFailure) this.log("system", "error", error.message);
  }

  #apply(step: RoleOutput): void {
    const { current } = this.#state;
    this.#go(this.#state.apply(step), current);
  }

  async #run(run: NodeRun): Promise<void> {
    const isAgent = run.node.kind === "agent";
    await this.#scheduler.run(async (turn) => {
      const carryOut = () => this.#carryOut(run, turn);
      const step = await (isAgent ? this.#limit.run(carryOut) : carryOut());
      if (!step) return;
      await this.#scheduler.commit(step);
      this.#publish("step_done", run, { outputs: { output: step.meta.output } }, step.attempt);
      this.#apply(step);
    });
  }

  /** Runs a node. Returns null if any node has failed. */
  async #carryOut(run: NodeRun, turn: Turn): Promise<RoleOutput | null> {
    if (this.#failure) return null;
    const { attempts, guardrails, thread, keyOf, questions, recorded } = this.#around;
    const { node } = run;
    const given = this.#around.agents;
    const agents = recorded ? recordedAgent(recorded, run, given) : given;
    const attempt = openAttempt(
      { attempts },
      { role: node.id, path: pathOf(run), title: node.name },
    );
    const { id } = attempt;
    const startedAt = Date.now();
    const resolvedInputs = { input: run.input };
    const meta = { title: node.name };
    this.#publish("step_start", run, { type: node.type, meta, resolvedInputs }, id);
    try {
      const log = (type: LogType, content: string) => this.log(node.id, type, content, id);
      const [outline, state] = [this.#outline, this.#state];
      const own = {
        ...{ ...thread, role: node.id, key: keyOf(node.id, run.run) },
        questions: questions.for((wait) => this.#askFor(node.id, wait, turn), thread.signal),
      };
      const work = { run, outline, state, thread: own, agents, guardrails, log };
      const done = await attempt.run(() => execute(work));
      const output = this.#stepOf(run, done, Date.now() - startedAt);
      return id === undefined ? output : { ...output, attempt: id };
    } catch (error) {
      const message = messageOf(error);
      this.#publish("step_error", run, { error: message }, id);
      attempt.end(thread.signal?.aborted ? "cancelled" : "failed", error);
      // Set the failure at once: an approval would ask as soon as no node runs.
      this.#fail(error);
      return null;
    }
  }

  #publish(
    type: string,
    { node }: NodeRun,
    payload: Record<string, unknown>,
    attempt: string | undefined,
  ): void {
    this.#around.publish({
      type,
      stepID: node.id,
      payload,
      ...(attempt !== undefined && { attempt }),
    });
  }

  #stepOf(run: NodeRun, { handle, output, spent }: Done, durationMs: number): RoleOutput {
    const { arrivals, node } = run;
    const meta: NodeMeta = {
      nodeType: node.type,
      name: node.name,
      run: run.run,
      arrivals: arrivals.map(({ from, handle: by, run: number }) => ({
        from,
        handle: by,
        run: number,
      })),
      output,
      ...(handle !== undefined && { handle }),
      follows: this.#followsOf(node.id, handle ?? null),
      ...spent,
      durationMs,
    };
    return { role: node.id, content: textOf(output), meta };
  }

  /** Returns the ids of the next nodes. Reports and skips a connection to a missing node. */
  #followsOf(id: string, handle: string | null): string[] {
    const targets = new Set(this.#outline.following(id, handle).map(({ target }) => target));
    return [...targets].filter((target) => {
      const isThere = this.#outline.nodes.has(target);
      if (!isThere) this.log(id, "warn", `Connection target "${target}" not found`);
      return isThere;
    });
  }

  /** Asks the question of a running node's agent, once no other node is running. */
  async #askFor(id: string, wait: RoleOutput, turn: Turn): Promise<RoleOutput> {
    this.#addQuestion();
    this.#logWait(id);
    const { questions } = this.#around;
    const ask = async () => questions.given(wait) ?? (await this.#scheduler.ask(wait));
    const answer = await this.#limit.aside(() => turn.wait(ask));
    if (answer.role !== INPUT) throw noAnswer(`the graph waits at ${id}`);
    questions.take(wait);
    questions.take(answer);
    this.#logReceived(id, answer.content, null);
    return answer;
  }

  /**
   * Counts the steps of a question and its answer.
   * @throws RunFailure if they would be the last steps.
   */
  #addQuestion(): void {
    this.#rounds += 2;
    const { maxRounds } = this.#around;
    if (this.#rounds >= maxRounds) throw outOfRounds(maxRounds);
  }

  async #ask(run: NodeRun): Promise<void> {
    await this.#scheduler.run(async (turn) => {
      const answer = await turn.wait(() => this.#answerTo(run));
      if (answer) this.#apply(answer);
    });
  }

  /** Waits until no node is running, then asks. Returns null if a node failed meanwhile. */
  async #answerTo({ input, node, run }: NodeRun): Promise<RoleOutput | null> {
    if (this.#failure) return null;
    const prompt = node.kind === "approval" ? node.prompt : "";
    const meta: ApprovalMeta = {
      ...{ for: "approval", nodeId: node.id, name: node.name, run, prompt, input },
      schema: answerSchema,
      token: tokenOf(node.id, run),
    };
    const content = prompt.trim() || "Approval required before continuing.";
    const wait = { role: WAIT, content, meta };
    for (;;) {
      const answer = await this.#scheduler.ask(wait);
      if (answer.role !== INPUT) throw noAnswer(`the graph waits at ${node.id}`);
      this.#state.apply(wait);
      if (this.logAnswer(meta, answer)) return answer;
      // The driver accepts any answer. After an answer without a decision no node follows, and the approval asks again.
      this.#state.apply(answer);
      this.#addQuestion();
      this.#logWait(node.id);
    }
  }

  /** Logs the answer to an approval. Returns false if it is not a decision. */
  logAnswer(asked: ApprovalMeta, { content, meta }: RoleOutput): boolean {
    const { nodeId } = asked;
    const review = reviewOf(asked, Object.hasOwn(meta, "value") ? meta.value : content);
    if (review === null) {
      this.log(nodeId, "warn", "The answer is neither approve nor reject");
      return false;
    }
    const { decision, note } = review;
    const done = decision === "reject" ? "rejected" : "approved";
    const feedback = note.trim() === "" ? "" : ` Feedback: ${note}`;
    this.#logReceived(nodeId, `User ${done} this step.${feedback}`, decision);
    return true;
  }

  #logReceived(nodeId: string, text: string, decision: ApprovalInput["decision"] | null): void {
    this.#around.publish(logEvent(nodeId, "input_received", text, { decision }));
  }
}

/** Returns an agent that replays the recorded answer of a node's run, if the fixture has one. */
const recordedAgent =
  (recorded: RecordedAnswers, { node, run }: NodeRun, own: GraphAgents): GraphAgents =>
  async (...given) => {
    const found = recorded(node.id, run);
    return found === null ? await own(...given) : { output: found.meta.output };
  };

/** The schema of an answer to an approval. The answer must contain a decision. */
export const answerSchema = {
  type: "object",
  required: ["decision"],
  properties: {
    decision: { title: "Decision", enum: ["approve", "reject"] },
    note: { title: "Note", type: "string", format: "multiline" },
  },
};

/** Returns the token that an answer must carry, so that a duplicate answer can't answer the next question. */
export const tokenOf = (nodeId: string, run: number): string => `${nodeId}#${run}`;

/** Returns a path with the number of a node's run; an empty path for the first run. */
const pathOf = ({ node, run }: NodeRun): PathPart[] =>
  run === 1 ? [] : [{ in: "run", child: node.id, iteration: run - 1 }];
