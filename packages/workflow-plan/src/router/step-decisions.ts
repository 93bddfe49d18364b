import { createHash } from "node:crypto";
import { buttonHashLength } from "../channel/channel.ts";
import { prefixes } from "../plan/terms.ts";
import { decisionOf, type Wanted } from "../runs/decisions.ts";
import type { RunRow } from "../store/rows.ts";
import { answererOf, type Desk, reasons, type Received } from "./received.ts";
import { noDecision } from "../runs/errors.ts";

/** Returns the topic of the question about a failed step. Each failure of a step has its own topic. */
export const failureOf = ({ runId, token }: Pick<Wanted, "runId" | "token">): string =>
  `${runId} ${token}`;

/** Returns the short name of a failure for `/answer`. Users can't guess the name before the question is sent. */
export const shortName = (failure: string): string =>
  createHash("sha256").update(failure).digest("hex").slice(0, buttonHashLength);

/** Handles a chat's decisions about failed steps and runs. */
export class StepDecisions {
  readonly #desk: Desk;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** Handles a word as the decision about the failed step in the chat's only open question. */
  async decide(received: Received, decision: string): Promise<void> {
    const { chat, message } = received;
    const own = new Set((await this.#desk.ownPlans(received)).map(({ id }) => id));
    const wanted = (await this.#desk.plans.wanted()).filter((one) => own.has(one.workflowId));
    const standings = wanted.map((one) => chat.standing(message, failureOf(one)));
    const seen = wanted.filter((_, at) => standings[at] === "answer");
    const [one, ...others] = seen;
    const [first] = standings;
    if (!first) return await this.#desk.replyState(received);
    const lead =
      one || first === "answer" ? "More than one step waits for a decision." : reasons[first];
    if (one && others.length === 0) await this.#answer(received, one, decision);
    else await this.#remind(received, wanted, lead);
  }

  /**
   * Decides about the failed step with a failure's name, or with the id of its run or plan. The rules are the same as
   * for the confirmation of a plan.
   */
  async decideNamed(received: Received, named: string, text: string): Promise<void> {
    const { plans } = this.#desk;
    const { chat, message } = received;
    const decision = decisionOf(text);
    const wanted = await plans.wanted();
    const exact = wanted.find((one) => shortName(failureOf(one)) === named);
    if (exact) return await this.#answer(received, exact, decision);
    const id = named.startsWith(prefixes.run) ? plans.findRun(named).id : plans.get(named).id;
    const one = wanted.find(({ runId, workflowId }) => runId === id || workflowId === id);
    if (!one) throw noDecision(id);
    const about = failureOf(one);
    const standing = chat.standing(message, about);
    const isElsewhere = !chat.state.questions[about] && message.metadata?.order !== undefined;
    if (isElsewhere || standing === "answer") return await this.#answer(received, one, decision);
    await this.#remind(received, [one], reasons[standing]);
  }

  async #answer(received: Received, wanted: Wanted, decision: string): Promise<void> {
    const { runId, stepId, token } = wanted;
    const by = answererOf(received);
    await this.#desk.plans.answer(runId, decision, { by, stepId, token });
    await this.#desk.reply(received, `${stepId}: ${decision}`);
  }

  /** Asks again about failed steps. */
  async #remind(received: Received, wanted: readonly Wanted[], lead: string): Promise<void> {
    const lines = wanted.map(
      (one) =>
        `${one.stepId} has failed: ${one.error}\n/answer ${shortName(failureOf(one))} retry, skip or abort`,
    );
    const sent = await this.#desk.question(received, [lead, ...lines].join("\n"));
    for (const one of wanted) received.chat.remind(failureOf(one), sent);
  }

  /** Tells whether a failed run was reported only after a command was written. If so, replies to the sender. */
  async isUnseen(received: Received, run: RunRow | undefined): Promise<boolean> {
    if (!run || received.chat.standing(received.message, run.id) !== "early") return false;
    const failed = `It has failed again since: ${run.error ?? "unknown reason"}`;
    await this.#desk.reply(
      received,
      `${failed}\n/retry ${run.workflow_id} repeats the failed steps.`,
    );
    return true;
  }
}
