import "../../lib/no-eval.ts";
import { type KnownTool, stepsEditing } from "@uncaged/workflow-steps/editing";
import { type DocumentKind, notes, type PaletteItem, type Template } from "../../editor/kind.ts";
import {
  Box,
  CirclePause,
  CircleStop,
  createLucideIcon,
  Download,
  FileArchive,
  FilePen,
  GitFork,
  Globe,
  type LucideIcon,
  Minus,
  Pencil,
  Repeat,
  Server,
  Sparkles,
  Split,
  Workflow,
} from "lucide-react";

/** The kind of step workflow documents. `tools` are the tools with known inputs. */
export const stepsKind = (tools: readonly KnownTool[]): DocumentKind => {
  const { actions: _, ...editing } = stepsEditing(tools);
  return { ...editing, name: "steps", templates: stepTemplates, palette };
};

const ToolLetters: LucideIcon = createLucideIcon("tool-letters", [
  ["path", { d: "M3 5h9", key: "bar" }],
  ["path", { d: "M7.5 5v14", key: "stem" }],
  ["path", { d: "M15 5v14h6", key: "corner" }],
]);

const item = (type: string, key: string, icon: LucideIcon, hint: string, label = type) =>
  ({ type, key, icon, hint, label }) as const satisfies PaletteItem;

/** The types of steps to add. `Fork` is a Noop with children. */
const palette: readonly PaletteItem[] = [
  item("LLM", "m", Sparkles, "Asks a model"),
  item("Tool", "t", ToolLetters, "Runs a tool: a command, a file, a search"),
  item("Set", "s", Pencil, "Sets a variable"),
  item("Branch", "b", Split, "Runs the first case that matches"),
  item("Loop", "l", Repeat, "Repeats its steps for each item, or while a condition holds"),
  item("Fork", "f", GitFork, "Runs its steps in parallel"),
  item("Pause", "p", CirclePause, "Asks a person, and waits"),
  item("Write", "w", FilePen, "Writes a file"),
  item("Stop", "e", CircleStop, "Ends the run"),
  item("Subflow", "u", Workflow, "Runs another step workflow"),
  item("API", "a", Globe, "Calls an HTTP endpoint of the registry"),
  item("Service", "v", Server, "Calls a service of the registry"),
  item("Component", "c", Box, "Calls a component of the registry"),
  item("Download", "d", Download, "Fetches a file"),
  item("Unzip", "z", FileArchive, "Unpacks an archive"),
  item("Noop", "n", Minus, "Does nothing; joins branches"),
  notes,
];

/** Step workflows to start from: the examples of the project. */
export const stepTemplates: readonly Template[] = [
  {
    label: "Approval",
    hint: "A question to a person, with a time limit",
    load: () => import("../../../../../examples/steps/approval.json"),
  },
  {
    label: "Parallel steps",
    hint: "Chains side by side; steps that handle a failure",
    load: () => import("../../../../../examples/steps/fan-out.json"),
  },
  {
    label: "Models",
    hint: "Models that stream, answer in a schema, and call tools",
    load: () => import("../../../../../examples/steps/models.json"),
  },
];
