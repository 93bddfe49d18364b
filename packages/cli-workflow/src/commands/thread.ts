import { findThread, readThread } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { whatNext } from "../follow/outcome.ts";
import { stepsText, threadText } from "../output/thread.ts";
import { examples, type Perform } from "../program/command.ts";
import type { Session } from "../program/session.ts";
import { defineRemove } from "./thread-rm.ts";

type Options = { full?: boolean; steps?: boolean };

export function define(command: Command, perform: Perform): void {
  command
    .argument("<id>", "the thread, or @last")
    .option("--full", "every step whole, with its meta")
    .option("--steps", "the steps alone")
    .action(perform(thread));
  examples(
    command,
    "uncaged-workflow thread @last --full",
    "uncaged-workflow thread @last --steps --json | jq '.[-1].content'",
  );
  defineRemove(command.command("rm"), perform);
}

async function thread(session: Session, options: Options, id: string): Promise<void> {
  const view = await readThread(session.root, await findThread(session.root, id));
  const { terminal, columns } = session.output.results;
  const look = {
    paint: session.paint,
    terminal,
    columns,
    full: options.full === true,
    now: Date.now(),
  };
  if (options.steps) session.show(view.steps, () => stepsText(view, look));
  else session.show(view, () => threadText(view, look));
  const next = whatNext(view);
  if (next) session.note(next);
}
