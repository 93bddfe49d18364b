import { goesOn, keepAwake, terminalUser } from "@uncaged/workflow/internal";
import { isWorkflowError, settled, WorkflowError } from "@uncaged/workflow/host";
import type { Plans, Started } from "@uncaged/workflow-plan/service";
import { decisions } from "@uncaged/workflow-plan/terms";
import { Argument, type Command } from "commander";
import { textOrStdin } from "../arguments/values.ts";
import { outcomeExitCode, outcomeJson, outcomeText } from "../output/outcome.ts";
import { exitCodes } from "../output/exit-code.ts";
import { count } from "../output/text.ts";
import { defineSubcommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { type AgentOptions, agentOption, withPlans } from "./home.ts";

type RunOptions = AgentOptions & { wait?: boolean };

const planArgument = (command: Command): Command =>
  command.argument("<plan>", "the plan's id, or any unique beginning of the id");

const runOptions = (command: Command): Command =>
  agentOption(command).option("--wait", "wait for the run's end and exit with its return code");

export const confirm = defineSubcommand({
  summary: "confirm a plan: it runs now, or waits for its trigger",
  declare: (command) =>
    runOptions(
      planArgument(command).option(
        "--hash <hash>",
        "only if the plan's hash is this text or begins with it",
      ),
    ),
  examples: ["uncaged-workflow plan confirm wf_x7", "uncaged-workflow plan confirm wf_x7 --wait"],
  run: (session, options: RunOptions & { hash?: string }, id: string) =>
    begin(session, options, (plans) => plans.confirm(id, { planHash: options.hash })),
});

export const run = defineSubcommand({
  summary: "run a plan now, regardless of its trigger",
  declare: (command) =>
    runOptions(
      planArgument(command).option(
        "--data <text>",
        "the run's trigger data; - reads it from stdin",
      ),
    ),
  examples: [
    "uncaged-workflow plan run wf_x7",
    "git diff | uncaged-workflow plan run wf_x7 --data - --wait",
  ],
  run: async (session, options: RunOptions & { data?: string }, id: string) => {
    const data = options.data === undefined ? undefined : await textOrStdin(options.data, "--data");
    return await begin(session, options, (plans) => plans.run(id, { data }));
  },
});

export const retry = defineSubcommand({
  summary: "repeat the unsuccessful steps of a failed plan's last run",
  declare: (command) => runOptions(planArgument(command)),
  examples: ["uncaged-workflow plan retry wf_x7 --wait"],
  run: (session, options: RunOptions, id: string) =>
    begin(session, options, (plans) => plans.retry(id)),
});

async function begin(
  session: Session,
  options: RunOptions,
  act: (plans: Plans) => Promise<Started>,
): Promise<number> {
  return await withPlans(session, options, async (plans, { isFiring }) => {
    const started = await act(plans);
    if (started.phase === "active" && !session.clusterChosen && !isFiring(plans.home))
      session.note(
        "no process fires its trigger; start one: uncaged-workflow plan service run, or serve",
      );
    const { phase, runId, threadId, workflowId } = started;
    if (threadId !== null && options.wait) return await wait(session, plans, started, threadId);
    session.show(started, () => (runId === null ? `${workflowId} is ${phase}\n` : `${runId}\n`));
    if (threadId !== null) session.note(`follow it: uncaged-workflow follow ${threadId}`);
    return exitCodes.done;
  });
}

/** Waits until a run has ended or waits for a decision. */
async function wait(
  session: Session,
  plans: Plans,
  started: Started,
  threadId: string,
): Promise<number> {
  const { host } = session;
  const signal = session.interruption();
  const rest = keepAwake(host, session.env);
  const awaited = { runId: started.runId ?? "", threadId };
  const ended = await begun(session, plans, awaited, signal)
    .then((ref) => (ref ? settled(host, ref, { signal }) : null))
    .finally(rest);
  if (ended === null || goesOn(ended)) {
    session.output.notes.write(`\n${started.workflowId} continues\n`);
    return exitCodes.interrupted;
  }
  await plans.refresh();
  const { phase } = plans.get(started.workflowId);
  session.show({ ...started, phase, ...outcomeJson(ended, ended.steps.length) }, () =>
    outcomeText(ended, session.look),
  );
  if (phase === "failed")
    session.note(
      `repeat the unsuccessful steps: uncaged-workflow plan retry ${started.workflowId}`,
    );
  return outcomeExitCode(ended);
}

const pollMs = 200;

/**
 * Returns the thread of a run, after waiting while the limit of concurrent runs is reached; null once the signal is
 * aborted.
 */
async function begun(
  { host }: Session,
  plans: Plans,
  { runId, threadId }: { runId: string; threadId: string },
  signal: AbortSignal,
) {
  while (!signal.aborted) {
    const found = await host.find(threadId).catch((error: unknown) => {
      if (isWorkflowError(error) && error.kind === "missing") return null;
      throw error;
    });
    if (found) return found;
    const { error, status } = plans.findRun(runId);
    if (status !== "running")
      throw WorkflowError.failed("RUN_ENDED", `${runId} ended before it started: ${error}`);
    await plans.startQueued((queued, cause) => {
      if (queued.runId === runId) throw cause;
    });
    await Bun.sleep(pollMs);
  }
  return null;
}

export const answer = defineSubcommand({
  summary: "decide about a failed step: retry, skip or abort",
  declare: (command) =>
    agentOption(
      command
        .argument("<plan>", "the plan or the run that waits, or any unique beginning of its id")
        .addArgument(
          new Argument(
            "<decision>",
            "retry the step, skip it and its dependents, or abort",
          ).choices([...decisions]),
        )
        .option("--step <id>", "only if the decision is about this step"),
    ),
  examples: ["uncaged-workflow plan answer wf_x7 retry"],
  run: (
    session,
    { step, ...options }: AgentOptions & { step?: string },
    id: string,
    decision: string,
  ) =>
    withPlans(session, options, async (plans) => {
      const done = await plans.answer(id, decision, { by: terminalUser(), stepId: step });
      session.show(done, () => `${done.decision}: ${done.stepId}\n`);
    }),
});

export const pause = defineSubcommand({
  summary: "start no more steps of a plan, and stop its trigger",
  declare: planArgument,
  examples: ["uncaged-workflow plan pause wf_x7"],
  run: (session, _options, id: string) =>
    withPlans(session, {}, async (plans) => {
      const workflow = await plans.pause(id);
      session.show(workflow, () => `paused ${workflow.id}\n`);
      session.note(`continue it: uncaged-workflow plan resume ${workflow.id}`);
    }),
});

export const resume = defineSubcommand({
  summary: "continue a paused plan, and its trigger",
  declare: (command) => agentOption(planArgument(command)),
  examples: ["uncaged-workflow plan resume wf_x7"],
  run: (session, options: AgentOptions, id: string) =>
    withPlans(session, options, async (plans) => {
      const workflow = await plans.resume(id);
      session.show(workflow, () => `resumed ${workflow.id}\n`);
    }),
});

export const cancel = defineSubcommand({
  summary: "end the run of a plan now, or withdraw an unconfirmed plan",
  declare: planArgument,
  examples: ["uncaged-workflow plan cancel wf_x7"],
  run: (session, _options, id: string) =>
    withPlans(session, {}, async (plans) => {
      const { what, workflow } = await plans.cancel(id);
      session.show(
        workflow,
        () => `cancelled the ${what}${what === "plan" ? "" : " of"} ${workflow.id}\n`,
      );
    }),
});

export const remove = defineSubcommand({
  summary: "delete a plan and its runs; their threads stay",
  declare: planArgument,
  examples: ["uncaged-workflow plan delete wf_x7"],
  run: (session, _options, id: string) =>
    withPlans(session, {}, async (plans) => {
      const done = await plans.remove(id);
      session.show(done, () => `deleted ${done.id}\n`);
    }),
});

export const rebuild = defineSubcommand({
  summary: "rebuild the rows of runs and steps from their threads",
  examples: ["uncaged-workflow plan rebuild"],
  run: (session) =>
    withPlans(session, { creates: true }, async (plans) => {
      const done = await plans.rebuild();
      session.show(done, () => `rebuilt the rows of ${count(done.runs, "run")}\n`);
    }),
});
