import "../../lib/no-eval.ts";
import { type GraphChoices, graphEditing } from "@uncaged/workflow-graph/editing";
import { Bot, ChevronsDownUp, ChevronsUpDown, GitBranch, Play, UserRoundCheck } from "lucide-react";
import {
  type Converted,
  type DocumentKind,
  notes,
  type PaletteItem,
  type Template,
} from "../../editor/kind.ts";
import { builtInTools } from "@uncaged/workflow-graph/document";
import type { GraphConfig } from "@uncaged/workflow-server/api-types";
import { queryOf } from "../../lib/request.ts";

const palette: readonly PaletteItem[] = [
  { type: "agent", label: "Agent", icon: Bot, hint: "Asks a model", key: "a" },
  { type: "if", label: "Condition", icon: GitBranch, hint: "Chooses the next node", key: "c" },
  {
    type: "approval",
    label: "User Approval",
    icon: UserRoundCheck,
    hint: "Waits for a person",
    key: "u",
  },
  {
    type: "start",
    label: "Start",
    icon: Play,
    hint: "Starts a run",
    key: "s",
    isHidden: true,
  },
  notes,
];

const folding = { Collapse: ChevronsDownUp, Expand: ChevronsUpDown };

/** The kind of agent graph documents. `choices` may return more later. */
export function agentGraphKind(choices: () => GraphChoices): DocumentKind {
  const editing = graphEditing(choices);
  return {
    ...editing,
    name: "graph",
    templates: graphTemplates,
    palette,
    convert,
    actions: (document, nodes) =>
      editing.actions?.(document, nodes).map((one) => ({
        ...one,
        icon: folding[one.label as keyof typeof folding],
      })) ?? [],
  };
}

async function convert(text: string, file: string): Promise<Converted | null> {
  const { importGraph, isImportable } = await import("@uncaged/workflow-graph/import");
  if (!isImportable(text) && !isScript(text, file)) return null;
  const { document, ...imported } = importGraph(text, file);
  return { ...imported, text: `${JSON.stringify(document, null, 2)}\n` };
}

/** Tells whether a text is code, so that the import explains why it can't be read. */
const isScript = (text: string, file: string): boolean =>
  /\.(m?ts|py)$/.test(file) || /^\s*(import|from|const|export)\s/.test(text);

/** Graphs to start from: the examples of the project. */
export const graphTemplates: readonly Template[] = [
  {
    label: "Review with approval",
    hint: "Two reviewers at once; a person approves",
    load: () => import("../../../../../examples/review-pipeline/pipeline.json"),
  },
  {
    label: "Research with subagents",
    hint: "A writer asks two researchers",
    load: () => import("../../../../../examples/research-team/team.json"),
  },
  {
    label: "Router",
    hint: "A sorter chooses the agent that answers",
    load: () => import("../../../../../examples/support-router/router.json"),
  },
];

/** The models of the server's configuration. */
export const configQuery = queryOf<GraphConfig>(["config"], "/config");

/** Choices before the server has answered. */
export const fewChoices: GraphChoices = {
  models: [],
  reasoningEfforts: ["none", "low", "medium", "high"],
  tools: builtInTools,
};

/** The choices of forms. Models need a configured key. */
export function choicesOf({ providers }: GraphConfig): GraphChoices {
  const models = providers.filter(({ enabled }) => enabled).flatMap((provider) => provider.models);
  const efforts = models.flatMap(({ reasoningEfforts = [] }) => reasoningEfforts);
  return {
    ...fewChoices,
    models: models.map(({ id }) => id),
    ...(efforts.length > 0 && { reasoningEfforts: [...new Set(efforts)] }),
  };
}
