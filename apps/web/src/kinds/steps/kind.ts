import "../../lib/no-eval.ts";
import { builtInTools, validate } from "@uncaged/workflow-steps/document";
import type { DocumentKind } from "../../editor/kind.ts";
import { withNotes } from "../../editor/notes.ts";
import { isRecord } from "../../lib/json.ts";
import { copySteps, pasteSteps } from "./clipboard.ts";
import { drawSteps } from "./drawing.ts";
import { addStep, connectSteps, moveSteps, removeSteps } from "./edits.ts";
import { expressionOf, insert } from "./expression.ts";
import { stepTemplates } from "./templates.ts";
import type { KnownTool } from "./tools.ts";
import { formOf } from "./form.ts";
import { palette } from "./palette.ts";
import { completionsAt } from "./scope.ts";

const emptyText = `{
  "version": "3.18",
  "name": "new-workflow",
  "registry": {
    "params": [],
    "vars": []
  },
  "steps": []
}
`;

/** The kind of step workflow documents. `tools` are the tools with known inputs. */
export const stepsKind = (tools: readonly KnownTool[]): DocumentKind =>
  withNotes({
    name: "steps",
    noun: "step workflow",
    emptyText,
    templates: stepTemplates,
    palette,
    read: drawSteps,
    check: (document) => validate(document, { tools: builtInTools }),
    recognize: otherFormat,
    add: (document, type, at, parent, isChosen) =>
      addStep(document, type, parent, isChosen === true ? at : null),
    remove: removeSteps,
    move: moveSteps,
    connect: connectSteps,
    copy: copySteps,
    paste: (document, fragment, _at, parent) => pasteSteps(document, fragment, parent),
    form: (document, node) => formOf(document, node, tools),
    complete: completionsAt,
    expressionOf,
    insert,
  });

function otherFormat(document: unknown): string | null {
  if (Array.isArray(document)) return "a list";
  if (!isRecord(document)) return "no workflow";
  if ("steps" in document) return null;
  if ("nodes" in document && "connections" in document) return "an agent graph";
  if (document._type === "vl_workflow_checkpoint") return "a checkpoint of a run";
  if ("nodes" in document) return "another program's workflow";
  return "version" in document || "registry" in document ? null : "no step workflow";
}
