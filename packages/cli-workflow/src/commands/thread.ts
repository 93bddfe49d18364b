import { attemptJson } from "@uncaged/workflow/records";
import { fixtureOf, type ThreadRef, threadJson } from "@uncaged/workflow/host";
import { Option } from "commander";
import { wholeNumber } from "../arguments/options.ts";
import { ledgerText } from "../output/ledger.ts";
import { whatNext } from "../output/outcome.ts";
import { jsonOf } from "../output/output.ts";
import { attemptsText, readWhole, stepsText, threadText } from "../output/thread.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import remove from "./thread-rm.ts";
import restore from "./thread-restore.ts";

/** The part to show instead of the whole thread. */
type Part = "steps" | "attempts" | "ledger" | "checkpoint" | "fixture";
type Options = { full?: boolean; value?: number } & { [part in Part]?: boolean };

const parts: Record<Part, string> = {
  steps: "only the steps",
  attempts: "only the attempts: the work done for each step",
  ledger: "only the usage",
  checkpoint: "the state of a step workflow after its steps, as JSON",
  fixture: "a fixture that answers the workflow's roles, as JSON",
};
const mostAt = 999_999_999_999;

export default defineCommand({
  declare(command) {
    command
      .argument("<id>", "the thread, or @last")
      .option("--full", "every step whole, with its meta");
    const names = Object.keys(parts);
    for (const [part, about] of Object.entries(parts)) {
      const others = [...names, "value"].filter((name) => name !== part);
      command.addOption(new Option(`--${part}`, about).conflicts(others));
    }
    const value = new Option(
      "--value <at>",
      "print a value that was too long for its event, as JSON",
    );
    command.addOption(value.argParser(wholeNumber("--value", 0, mostAt)).conflicts(names));
  },
  examples: [
    "uncaged-workflow thread @last --full",
    "uncaged-workflow thread @last --attempts",
    "uncaged-workflow thread @last --ledger --json | jq .total.cost",
    "uncaged-workflow thread @last --steps --json | jq '.[-1].content'",
    "uncaged-workflow thread @last --checkpoint | jq .variables",
    "uncaged-workflow thread @last --fixture > fixtures/greeting.json",
    "uncaged-workflow thread @last --value 51234 | jq -r .content",
  ],
  async run(session, options: Options, id: string) {
    const ref = await session.host.find(id);
    if (options.value !== undefined) {
      return showJson(session, JSON.parse(await session.host.value(ref, options.value)));
    }
    if (options.fixture) return showJson(session, fixtureOf(await session.host.read(ref)));
    if (options.checkpoint) return showJson(session, await checkpointOf(session, ref));
    if (session.json && !options.ledger && !options.attempts) {
      // JSON output contains only the log, so events need not be read.
      const view = await session.host.read(ref);
      return showJson(session, options.steps ? view.steps : threadJson(view));
    }
    const whole = await readWhole(session.host, ref);
    const { view, attempts, ledger } = whole;
    const look = { ...session.look, full: options.full === true, now: Date.now() };
    if (options.ledger) {
      session.show(ledger, () => ledgerText(ledger, look) || "the thread has called no model\n");
    } else if (options.attempts) {
      const text = () => attemptsText(whole, look) || "the thread has made no attempt\n";
      session.show({ attempts: attempts.map(attemptJson) }, text);
    } else session.write(options.steps ? stepsText(whole, look) : threadText(whole, look));
    const next = whatNext(view.threadId, view);
    if (next) session.note(next);
  },
  commands: {
    rm: { ...remove, summary: "move threads to the trash, with all of their data" },
    restore: { ...restore, summary: "bring a thread back from the trash, or list the trash" },
  },
});

const showJson = (session: Session, value: unknown): void =>
  session.show(value, () => `${jsonOf(value, 2)}\n`);

async function checkpointOf({ host }: Session, ref: ThreadRef): Promise<unknown> {
  const { recordedCheckpoint } = await import("@uncaged/workflow-steps/threads");
  const { documentsIn } = await import("../arguments/steps.ts");
  return recordedCheckpoint(await documentsIn(host, ref.hash), await host.read(ref));
}
