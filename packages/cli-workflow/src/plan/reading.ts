import type { PlanView, Plans } from "@uncaged/workflow-plan/service";
import { ago, shortIds } from "../output/text.ts";
import { pairs } from "../output/table.ts";
import { defineSubcommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { exitCodeOf, sandboxFacts, withPlans } from "./home.ts";
import {
  historyText,
  momentText,
  phaseStyle,
  phaseText,
  previewLines,
  wantedText,
} from "./text.ts";

export const list = defineSubcommand({
  summary: "list the plans, newest first",
  examples: ["uncaged-workflow plan list", "uncaged-workflow plan list --json | jq -r '.[].id'"],
  run: (session) =>
    withPlans(session, {}, async (plans) => {
      const damaged: unknown[] = [];
      const rows = await plans.list((_id, error) => damaged.push(error));
      if (rows.length === 0 && damaged.length === 0)
        session.note("no plans yet; make one: uncaged-workflow plan new 'what it is to do'");
      const { look } = session;
      const now = Date.now();
      const ids = rows.map(({ id }) => id);
      const shown = look.terminal ? shortIds(ids, "beginning") : (id: string) => id;
      session.list(rows, ({ id }) => id, [
        { title: "ID", cell: ({ id }) => shown(id), style: () => "bold" },
        {
          title: "PHASE",
          cell: ({ phase }) => phaseText(phase, look),
          style: ({ phase }) => phaseStyle(phase),
        },
        {
          title: "NEXT",
          cell: (row) => plans.summary(row).next_fire_at ?? "-",
        },
        { title: "TRIGGER", cell: (row) => plans.summary(row).trigger_text },
        { title: "CHANGED", cell: ({ updated_at }) => ago(Date.parse(updated_at), now) },
        { title: "NAME", cell: ({ name }) => name },
      ]);
      return exitCodeOf(session, damaged);
    }),
});

export const show = defineSubcommand({
  summary: "show a plan: its steps, its trigger, its runs",
  declare: (command) =>
    command.argument("<plan>", "the plan's id, or any unique beginning of the id"),
  examples: [
    "uncaged-workflow plan show wf_x7",
    "uncaged-workflow plan show wf_x7 --json | jq '.runs[0].steps'",
  ],
  run: (session, _options, id: string) =>
    withPlans(session, {}, async (plans) => {
      const view = await plans.show(id);
      const { runs, trigger_state: state, ...workflow } = view;
      const next = plans.summary(workflow).next_fire_at;
      const document = {
        ...workflow,
        trigger: { ...workflow.trigger, ...state, next_fire_at: next },
        runs,
      };
      const { look } = session;
      const now = Date.now();
      const sandbox = session.json ? undefined : await sandboxFacts(session, plans, workflow);
      session.show(document, () => {
        const preview = plans.preview(workflow, sandbox);
        return `${previewLines(workflow, preview, look)}${historyText(view, next, look, now)}`;
      });
      await noteNext(session, plans, view);
    }),
});

async function noteNext(session: Session, plans: Plans, { id, phase }: PlanView): Promise<void> {
  const plan = `uncaged-workflow plan`;
  if (phase === "awaiting_confirmation") session.note(`confirm it: ${plan} confirm ${id}`);
  if (plans.draft(id)) session.note(`it has a change that is not confirmed: ${plan} confirm ${id}`);
  if (phase === "failed") session.note(`repeat the unsuccessful steps: ${plan} retry ${id}`);
  for (const wanted of await plans.wanted()) {
    if (wanted.workflowId === id) session.note(wantedText(wanted));
  }
}

export const status = defineSubcommand({
  summary: "show running plans, open decisions, and plans due next",
  declare: (command) => command.argument("[plan]", "only this plan"),
  examples: ["uncaged-workflow plan status", "uncaged-workflow plan status --json | jq .next"],
  run: (session, _options, id?: string) =>
    withPlans(session, {}, async (plans) => {
      const damaged: unknown[] = [];
      const rows =
        id === undefined ? await plans.list((_id, error) => damaged.push(error)) : [plans.get(id)];
      const isShown = new Set(rows.map((row) => row.id));
      const running = plans
        .runs()
        .filter((run) => run.status === "running" && isShown.has(run.workflow_id));
      const wanted = (await plans.wanted()).filter(({ workflowId }) => isShown.has(workflowId));
      const due = rows.flatMap((row) => plans.summary(row).next_fire_at ?? []).toSorted();
      const counted = Object.groupBy(rows, ({ phase }) => phase);
      const phases = Object.fromEntries(
        Object.entries(counted).map(([phase, of]) => [phase, of.length]),
      );
      const document = { home: plans.home, phases, running, wanted, next: due[0] ?? null };
      session.show(document, () => {
        const entries: [string, string][] = [["home", plans.home]];
        const shown = Object.entries(phases).map(([phase, n]) => `${n} ${phase}`);
        entries.push(["plans", shown.join(", ") || "none"]);
        entries.push(["running", running.map((run) => run.id).join("\n") || "none"]);
        if (due[0] !== undefined) entries.push(["next", momentText(due[0], Date.now())]);
        return pairs(entries, session.paint);
      });
      for (const one of wanted) session.note(wantedText(one));
      return exitCodeOf(session, damaged);
    }),
});
