import type { WorkflowDocument } from "../document/document.ts";
import { type Outline, outlineOf } from "../outline/outline.ts";
import { Registry } from "../registry/registry.ts";

/** A document with what is read off it once. */
export type Workflow = { document: WorkflowDocument; registry: Registry; outline: Outline };

/** Reads a document that is valid. @throws WorkflowError `DECLARATION_INVALID` */
export const readWorkflow = (document: WorkflowDocument): Workflow => ({
  document,
  registry: new Registry(document.registry),
  outline: outlineOf(document),
});
