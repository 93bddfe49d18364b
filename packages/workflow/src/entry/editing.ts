/**
 * JSON documents in editors: drawings of a document, edits that keep the rest of its text byte for byte, notes, and the
 * differences between two versions. Pure; runs in browsers.
 *
 * @module
 */

// Formats
export type {
  Change,
  Completion,
  DocumentEditing,
  DrawnEdge,
  DrawnNode,
  Drawing,
  Edit,
  EditAction,
  Inserted,
  JsonSchema,
  NodeForm,
  NodePosition,
  Point,
  Port,
  PortAt,
  Problem,
  Refused,
  RunValue,
  Side,
} from "../editing/editing.ts";
export type { DocumentPath } from "../document/text.ts";
export { noteType, withNotes } from "../editing/notes.ts";
export { compare, type Comparison, type Mark } from "../editing/compare.ts";

// Texts
export { applyEdits, editsOf, inverseOf, type TextEdit } from "../editing/changes.ts";
export { deepest, pathAt, type TextNode, treeOf } from "../editing/tree.ts";

// Parts of unchecked documents
export { counted, isRecord, isSame, listOf, shortened, spliced, textOf } from "../editing/parts.ts";
