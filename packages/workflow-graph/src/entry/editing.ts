/**
 * Agent graphs in an editor: their drawing, the edits of their documents, and the forms of their nodes. Does no I/O and
 * runs in browsers.
 * @module
 */

export { graphEditing } from "../editing/editing.ts";
export { editPrompt, promptOf } from "../editing/edits.ts";
export type { GraphChoices } from "../editing/form.ts";
