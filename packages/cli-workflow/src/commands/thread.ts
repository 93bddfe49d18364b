import { findThread, readThread, readValue, type ThreadRef } from "@uncaged/workflow/host";
import { type Command, Option } from "commander";
import { wholeNumber } from "../arguments/options.ts";
import { whatNext } from "../output/outcome.ts";
import { readWhole } from "../ledger/ledger.ts";
import { ledgerText } from "../output/ledger.ts";
import { stepsText, threadText } from "../output/thread.ts";
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { defineRemove } from "./thread-rm.ts";

type Options = {
  full?: boolean;
  steps?: boolean;
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
    .addOption(new Option("--ledger", "only what it spent").conflicts("steps"))
    .addOption(
      new Option(
        "--checkpoint",
        "the state that the steps of a step workflow make, as JSON",
      ).conflicts(["steps", "ledger"]),
    )
    .addOption(
      new Option("--value <at>", "a value that was too long for its event, in full, as JSON")
        .argParser(wholeNumber("--value", 0, mostAt))
        .conflicts(["steps", "ledger", "checkpoint"]),
    )
    .action(perform(thread));
  examples(
    command,
    "uncaged-workflow thread @last --full",
    "uncaged-workflow thread @last --ledger --json | jq .total.cost",
    "uncaged-workflow thread @last --steps --json | jq '.[-1].content'",
    "uncaged-workflow thread @last --checkpoint | jq .variables",
    "uncaged-workflow thread @last --value 51234 | jq -r .content",
  );
  defineRemove(command.command("rm"), perform);
}

async function thread(session: Session, options: Options, id: string): Promise<void> {
  const ref = await findThread(session.root, id);
  if (options.value !== undefined) return showValue(session, ref, options.value);
  if (options.checkpoint) return await showCheckpoint(session, ref);
  const whole = await readWhole(session.root, ref);
  const { view, ledger } = whole;
  const look = { ...session.look, full: options.full === true, now: Date.now() };
  if (options.ledger) {
    session.show(ledger, () => ledgerText(ledger, look) || "it has called no model\n");
  } else if (options.steps) {
    session.show(view.steps, () => stepsText(whole, look));
  } else {
    session.show(view, () => threadText(whole, look));
  }
  const next = whatNext(view);
  if (next) session.note(next);
}

async function showCheckpoint(session: Session, ref: ThreadRef): Promise<void> {
  const { recordedCheckpoint } = await import("@uncaged/workflow-steps");
  const { documentsIn } = await import("../arguments/steps.ts");
  const { root } = session;
  const checkpoint = recordedCheckpoint(
    await documentsIn(root, ref.hash),
    await readThread(root, ref),
  );
  session.show(checkpoint, () => `${JSON.stringify(checkpoint, null, 2)}\n`);
}

function showValue(session: Session, ref: ThreadRef, at: number): void {
  const value: unknown = JSON.parse(readValue(session.root, ref, at));
  session.show(value, () => `${JSON.stringify(value, null, 2)}\n`);
}
