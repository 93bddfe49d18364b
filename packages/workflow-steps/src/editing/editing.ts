import { type DocumentEditing, isRecord, withNotes } from "@uncaged/workflow/editing";
import { validate } from "../check/check.ts";
import { builtInTools } from "../document/tools.ts";
import { copySteps, pasteSteps } from "./clipboard.ts";
import { drawSteps } from "./drawing.ts";
import { addStep, connectSteps, moveSteps, removeSteps } from "./edits.ts";
import { expressionOf, insert } from "./expression.ts";
import { formOf } from "./form.ts";
import { completionsAt } from "./scope.ts";
import type { KnownTool } from "./tools.ts";

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

/** Returns the editing functions for step workflows. `tools` are the tools with known inputs. */
export const stepsEditing = (tools: readonly KnownTool[]): DocumentEditing =>
  withNotes({
    noun: "step workflow",
    emptyText,
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
  return "version" in document || "registry" in document ? null : "another document";
}
