import type { StreamCallbacks } from "@uncaged/workflow-plan";
import type { Planning, Turned } from "@uncaged/workflow-plan/service";
import { readText, textOrStdin } from "../arguments/values.ts";
import type { Spinner } from "../output/output.ts";
import { plain } from "../output/text.ts";
import { defineSubcommand } from "../session/command.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { exitCodes } from "../output/exit-code.ts";
import { addedPlan } from "./file.ts";
import { plannerOf, sandboxFacts, withPlans } from "./home.ts";
import { previewLines } from "./text.ts";

export const make = defineSubcommand({
  summary: "make a plan of a request",
  declare: (command) =>
    command
      .argument("[text]", "its task; - reads it from stdin")
      .option("--file <file>", "a plan that you wrote; - reads it from stdin"),
  examples: [
    "uncaged-workflow plan new 'Every weekday at nine, tell me which of my repositories have failing builds'",
    "uncaged-workflow plan new - --json < request.txt | jq -r .workflow.id",
    "uncaged-workflow plan new --file plan.json",
  ],
  async run(session, { file }: { file?: string }, request?: string) {
    if ((file === undefined) === (request === undefined))
      throw wrongUse("give either a text or --file", "describe the task of the plan");
    if (file !== undefined) return await fromFile(session, file);
    const text = request ?? "";
    return await converse(session, text, (planning, given, callbacks) =>
      planning.start(given, callbacks),
    );
  },
});

async function fromFile(session: Session, file: string): Promise<number> {
  const text = await readText(file, "--file");
  const workflow = await addedPlan(session, text, file === "-" ? "plan.json" : file);
  await withPlans(session, {}, async (plans) => {
    const sandbox = session.json ? undefined : await sandboxFacts(session, plans, workflow);
    session.show({ workflow }, () =>
      previewLines(workflow, plans.preview(workflow, sandbox), session.look),
    );
  });
  noteConfirm(session, workflow.id);
  return exitCodes.done;
}

function noteConfirm(session: Session, id: string): void {
  session.note(`confirm it: uncaged-workflow plan confirm ${id}`);
  session.note(`change it: uncaged-workflow plan modify ${id} 'what is to change'`);
}

export const modify = defineSubcommand({
  summary: "change a plan",
  declare: (command) =>
    command
      .argument("<plan>", "the plan's id, or any unique beginning of the id")
      .argument("<text>", "the change; - reads it from stdin"),
  examples: ["uncaged-workflow plan modify wf_x7 'at ten, and only on Mondays'"],
  run: (session, _options, id: string, wish: string) =>
    converse(session, wish, (planning, given, callbacks) => planning.modify(id, given, callbacks)),
});

export const answerQuestion = defineSubcommand({
  summary: "answer the planner, or request a change",
  declare: (command) =>
    command
      .argument("<session>", "the planner session")
      .argument("<text>", "the answer; - reads it from stdin"),
  examples: ["uncaged-workflow plan answer-question ps_x7 'those in ~/projects'"],
  run: (session, _options, id: string, reply: string) =>
    converse(session, reply, (planning, given, callbacks) => planning.answer(id, given, callbacks)),
});

type Turn = (planning: Planning, text: string, callbacks: StreamCallbacks) => Promise<Turned>;

async function converse(session: Session, given: string, take: Turn): Promise<number> {
  const text = await textOrStdin(given, "the text");
  if (text.trim() === "") throw wrongUse("the text is blank", "describe the task of the plan");
  return await withPlans(session, { creates: true }, async (plans, { Planning }) => {
    const planning = new Planning(plans, await plannerOf(session, plans));
    const live = new LiveText(session);
    const turned = await take(planning, text, live).finally(() => live.end());
    const { turn, workflow } = turned;
    const sandbox =
      workflow && !session.json ? await sandboxFacts(session, plans, workflow) : undefined;
    session.show(turned, () => {
      if (!workflow) return live.hasShown(turn.content) ? "" : `${plain(turn.content)}\n`;
      return previewLines(workflow, plans.preview(workflow, sandbox), session.look);
    });
    noteNext(session, turned);
    return turn.type === "error" ? exitCodes.failed : exitCodes.done;
  });
}

/** Streams the text of the model to a terminal, with a spinner in pauses. Writes nothing to programs and pipes. */
class LiveText implements StreamCallbacks {
  readonly #session: Session;
  readonly #spinner: Spinner;
  #shown = "";

  constructor(session: Session) {
    this.#session = session;
    this.#spinner = session.spinner(() => (this.#isMidLine ? [] : ["planning"]));
  }

  get #isMidLine(): boolean {
    return this.#shown !== "" && !this.#shown.endsWith("\n");
  }

  readonly onToken = (token: string): void => {
    const { json, output, quiet } = this.#session;
    if (json || quiet || !output.notes.terminal) return;
    const text = plain(token);
    this.#spinner.clear();
    this.#shown += text;
    output.notes.write(text);
  };

  end(): void {
    this.#spinner.stop();
    if (this.#isMidLine) this.#session.output.notes.write("\n");
  }

  /** Tells whether the terminal that shows the results already shows the text. */
  hasShown(text: string): boolean {
    return this.#session.output.results.terminal && this.#shown.endsWith(plain(text));
  }
}

function noteNext(session: Session, { session: id, turn, workflow }: Turned): void {
  const answer = `uncaged-workflow plan answer-question ${id} 'your answer'`;
  if (workflow) noteConfirm(session, workflow.id);
  else session.note(turn.type === "error" ? `try again: ${answer}` : `answer it: ${answer}`);
}
