import { type ThreadRef, threadJson } from "@uncaged/workflow/host";
import { type Command, Option } from "commander";
import { wholeNumber } from "../arguments/options.ts";
import { whatNext } from "../output/outcome.ts";
import { readWhole } from "../thread/thread.ts";
import { attemptJson } from "../output/attempt.ts";
import { ledgerText } from "../output/ledger.ts";
import { attemptsText, stepsText, threadText } from "../output/thread.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { defineRemove } from "./thread-rm.ts";

type Options = {
  full?: boolean;
  steps?: boolean;
  attempts?: boolean;
  ledger?: boolean;
  checkpoint?: boolean;
  value?: number;
};

const mostAt = 999_999_999_999;

export function define(command: Command, perform: Perform): void {
  command
    .argument("<id>", "the thread, or @last")
    .option("--full", "every step whole, with its meta")
    .option("--steps", "the steps alone")
    .addOption(
      new Option("--attempts", "the attempts alone: what was done for each step").conflicts(
        "steps",
      ),
    )
    .addOption(new Option("--ledger", "only what it spent").conflicts(["steps", "attempts"]))
    .addOption(
      new Option(
        "--checkpoint",
        "the state that the steps of a step workflow make, as JSON",
      ).conflicts(["steps", "attempts", "ledger"]),
    )
    .addOption(
      new Option("--value <at>", "a value that was too long for its event, in full, as JSON")
        .argParser(wholeNumber("--value", 0, mostAt))
        .conflicts(["steps", "attempts", "ledger", "checkpoint"]),
    )
    .action(perform(thread));
  examples(
    command,
    "uncaged-workflow thread @last --full",
    "uncaged-workflow thread @last --attempts",
    "uncaged-workflow thread @last --ledger --json | jq .total.cost",
    "uncaged-workflow thread @last --steps --json | jq '.[-1].content'",
    "uncaged-workflow thread @last --checkpoint | jq .variables",
    "uncaged-workflow thread @last --value 51234 | jq -r .content",
  );
  defineRemove(command.command("rm"), perform);
}

async function thread(session: Session, options: Options, id: string): Promise<void> {
  const ref = await session.host.find(id);
  if (options.value !== undefined) return await showValue(session, ref, options.value);
  if (options.checkpoint) return await showCheckpoint(session, ref);
  const whole = await readWhole(session.host, ref);
  const { view, ledger } = whole;
  const look = { ...session.look, full: options.full === true, now: Date.now() };
  if (options.ledger) {
    session.show(ledger, () => ledgerText(ledger, look) || "it has called no model\n");
  } else if (options.attempts) {
    const document = { attempts: whole.attempts.map(attemptJson) };
    session.show(document, () => attemptsText(whole, look) || "it has made no attempt\n");
  } else if (options.steps) {
    session.show(view.steps, () => stepsText(whole, look));
  } else {
    session.show(threadJson(view), () => threadText(whole, look));
  }
  const next = whatNext(view.threadId, view.status);
  if (next) session.note(next);
}

async function showCheckpoint(session: Session, ref: ThreadRef): Promise<void> {
  const { recordedCheckpoint } = await import("@uncaged/workflow-steps");
  const { documentsIn } = await import("../arguments/steps.ts");
  const { host } = session;
  const documents = await documentsIn(host, ref.hash);
  const checkpoint = recordedCheckpoint(documents, await host.read(ref));
  session.show(checkpoint, () => `${JSON.stringify(checkpoint, null, 2)}\n`);
}

async function showValue(session: Session, ref: ThreadRef, at: number): Promise<void> {
  const value: unknown = JSON.parse(await session.host.value(ref, at));
  session.show(value, () => `${JSON.stringify(value, null, 2)}\n`);
}
