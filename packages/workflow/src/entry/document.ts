/**
 * JSON and YAML documents, read with the position of each part and built into bundles.
 *
 * @module
 */

export {
  type DocumentProblem,
  locatedProblems,
  type Position,
  readDocument,
  type ReadDocument,
} from "../document/document.ts";
export { entryFiles } from "../document/entry-files.ts";
export { nearestName } from "../document/nearest.ts";
export type { DocumentPath } from "../document/text.ts";
