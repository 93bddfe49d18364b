import "../../lib/no-eval.ts";
import { type GraphChoices, graphEditing } from "@uncaged/workflow-graph/editing";
import { Bot, ChevronsDownUp, ChevronsUpDown, GitBranch, Play, UserRoundCheck } from "lucide-react";
import { type Converted, type DocumentKind, notes, type PaletteItem } from "../../editor/kind.ts";
import { graphTemplates } from "./templates.ts";

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
