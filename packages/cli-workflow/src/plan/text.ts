import type { Workflow, WorkflowPhase } from "@uncaged/workflow-plan";
import type {
  PlanPreview,
  PlanView,
  RunRow,
  StepRow,
  Wanted,
} from "@uncaged/workflow-plan/service";
import { type Look, type Mark, markedText, type Style } from "../output/style.ts";
import { type Column, pairs, table } from "../output/table.ts";
import { ago, count, elapsed, firstLine, oneLine, padded, plain } from "../output/text.ts";

const phases: Record<WorkflowPhase, Mark> = {
  planning: { glyph: "…", style: "dim" },
  awaiting_confirmation: { glyph: "?", style: "yellow" },
  active: { glyph: "◷", style: "green" },
  executing: { glyph: "●", style: "cyan" },
  paused: { glyph: "‖", style: "yellow" },
  completed: { glyph: "✔", style: "green" },
  failed: { glyph: "✘", style: "red" },
};

const statuses: Record<StepRow["status"], Mark> = {
  pending: { glyph: "·", style: "dim" },
  running: { glyph: "●", style: "cyan" },
  succeeded: { glyph: "✔", style: "green" },
  failed: { glyph: "✘", style: "red" },
  skipped: { glyph: "-", style: "dim" },
};

const runs: Record<RunRow["status"], Mark> = {
  running: statuses.running,
  completed: statuses.succeeded,
  failed: statuses.failed,
};

export const phaseText = (phase: WorkflowPhase, { terminal }: Look): string =>
  markedText(phases, phase, terminal);

export const phaseStyle = (phase: WorkflowPhase): Style => phases[phase].style;

/** Returns a moment as RFC 3339, with its distance from now. */
export function momentText(time: string, now: number): string {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return plain(time);
  const away = ms - now;
  return `${time} (${away > 0 ? `in ${elapsed(away)}` : away > -60_000 ? "due" : ago(ms, now)})`;
}

/** Returns a plan as shown before its confirmation: its steps, times and permissions. */
export function previewLines(workflow: Workflow, preview: PlanPreview, look: Look): string {
  const { id, metadata, name, phase, steps } = workflow;
  const { credentials, nextFires, sandboxFacts, trigger } = preview;
  const names = credentials.map((one) => (one.known ? one.name : `${one.name} (not stored)`));
  const entries: [string, string][] = [
    ["plan", look.paint("bold", id)],
    ["name", oneLine(name)],
    ["phase", look.paint(phaseStyle(phase), phaseText(phase, look))],
    ["trigger", plain(trigger)],
  ];
  if (nextFires.length > 0) entries.push(["next", nextFires.join("\n")]);
  if (names.length > 0) entries.push(["credentials", names.join("\n")]);
  if (sandboxFacts.length > 0) entries.push(["sandbox", sandboxFacts.map(oneLine).join("\n")]);
  if (metadata?.cwd !== undefined) entries.push(["folder", plain(metadata.cwd)]);
  const width = Math.max(...steps.map((step) => step.id.length));
  const lines = steps.map(({ depends_on, description, id: step }) => {
    const after =
      depends_on.length === 0 ? "" : look.paint("dim", ` (after ${depends_on.join(", ")})`);
    return `  ${look.paint("cyan", padded(step, width))}  ${oneLine(description)}${after}\n`;
  });
  return `${pairs(entries, look.paint)}\n${count(steps.length, "step")}\n${lines.join("")}`;
}

/** Returns the history of a plan: its trigger's state, the steps of its last run, and its runs. */
export function historyText(view: PlanView, next: string | null, look: Look, now: number): string {
  const { trigger_state: state } = view;
  const entries: [string, string][] = [];
  if (next !== null) entries.push(["due", momentText(next, now)]);
  if (state?.last_check_at && view.trigger.type === "poll")
    entries.push(["last check", momentText(state.last_check_at, now)]);
  if (state?.last_fire_at) entries.push(["last fire", momentText(state.last_fire_at, now)]);
  if (state?.last_error) entries.push(["error", look.paint("red", plain(state.last_error))]);
  const head = entries.length === 0 ? "" : `\n${pairs(entries, look.paint)}`;
  const [last] = view.runs;
  if (!last) return head;
  return `${head}\n${runsText(view.runs, look, now)}\n${stepsText(last, look)}`;
}

function runsText(rows: PlanView["runs"], look: Look, now: number): string {
  const shown = rows.slice(0, 10);
  const columns: Column<RunRow>[] = [
    { title: "RUN", cell: ({ id }) => id, style: () => "bold" },
    {
      title: "STATUS",
      cell: ({ status }) => markedText(runs, status, look.terminal),
      style: ({ status }) => runs[status].style,
    },
    { title: "STARTED", cell: ({ started_at }) => ago(Date.parse(started_at), now) },
    {
      title: "TOOK",
      cell: ({ duration_ms }) => (duration_ms === null ? "-" : elapsed(duration_ms)),
      right: true,
    },
    { title: "ERROR", cell: ({ error }) => firstLine(error ?? "") },
  ];
  const more = rows.length - shown.length;
  return `${table(columns, shown, look)}${more > 0 ? `… ${count(more, "run")} more (--json)\n` : ""}`;
}

function stepsText({ steps }: PlanView["runs"][number], look: Look): string {
  const columns: Column<StepRow>[] = [
    { title: "STEP", cell: ({ step_id }) => step_id, style: () => "cyan" },
    {
      title: "STATUS",
      cell: ({ status }) => markedText(statuses, status, look.terminal),
      style: ({ status }) => statuses[status].style,
    },
    {
      title: "TOOK",
      cell: ({ duration_ms }) => (duration_ms === null ? "-" : elapsed(duration_ms)),
      right: true,
    },
    {
      title: "OUTPUT",
      cell: ({ error, output_json }) => firstLine(error ?? outputOf(output_json)),
    },
  ];
  return steps.length === 0 ? "" : table(columns, steps, look);
}

/** Returns the output of a step from its JSON column. */
export function outputOf(json: string | null): string {
  if (json === null) return "";
  const value: unknown = JSON.parse(json);
  return typeof value === "string" ? value : json;
}

/** Returns the error of the failed step, and the command that decides about it. */
export const wantedText = ({ error, stepId, workflowId }: Wanted): string =>
  `step ${stepId} failed: ${oneLine(error)}; decide: uncaged-workflow plan answer ${workflowId} retry (or skip, or abort)`;
