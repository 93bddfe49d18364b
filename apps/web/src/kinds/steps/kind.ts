import "../../lib/no-eval.ts";
import { type KnownTool, stepsEditing } from "@uncaged/workflow-steps/editing";
import type { DocumentKind } from "../../editor/kind.ts";
import { palette } from "./palette.ts";
import { stepTemplates } from "./templates.ts";

/** The kind of step workflow documents. `tools` are the tools with known inputs. */
export const stepsKind = (tools: readonly KnownTool[]): DocumentKind => {
  const { actions: _, ...editing } = stepsEditing(tools);
  return { ...editing, name: "steps", templates: stepTemplates, palette };
};
